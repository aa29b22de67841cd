import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nextSecret, SECRET_TRIES } from '../../../../../../src/main/control/hosts/sign-in.ts'
import type { SshTarget } from '../../../../../../src/main/control/hosts/ssh/config.ts'
import {
  type Credentials,
  chooseAgentKeys,
  gatherCredentials,
  KeyRing,
  MAX_KEY_OFFERS,
  planMethods,
  SignIn,
} from '../../../../../../src/main/control/hosts/ssh/credentials.ts'
import { loadKeyFile } from '../../../../../../src/main/control/hosts/ssh/key-file.ts'
import { newSshKey } from '../../../../../support/ssh-key.ts'

const aKey = () => newSshKey().key
const file = (name: string, key = aKey()) => ({ kind: 'key' as const, file: name, key })
const credentials = (over: Partial<Credentials> = {}): Credentials => ({
  user: 'ops',
  files: [],
  agentKeys: [],
  agent: undefined,
  password: undefined,
  ...over,
})
const kinds = (c: Credentials) => planMethods(c).map((method) => method.kind)

describe('the plan of a sign-in', () => {
  it('learns first what the server takes, then offers keys, then the password', () => {
    const all = credentials({ files: [file('/a')], agentKeys: [aKey()], password: 'pw' })
    expect(kinds(all)).toEqual(['none', 'agent', 'key', 'password', 'keyboard'])
    expect(kinds(credentials())).toEqual(['none'])
  })

  it('offers a key once when the agent holds it too', () => {
    const key = aKey()
    expect(kinds(credentials({ files: [file('/a', key)], agentKeys: [key] }))).toEqual(['none', 'agent'])
  })

  it('leaves locked and unreadable files out', () => {
    const files = [
      { kind: 'locked' as const, file: '/l' },
      { kind: 'unreadable' as const, file: '/u', detail: 'EACCES' },
    ]
    expect(kinds(credentials({ files }))).toEqual(['none'])
  })

  it('never offers more keys than sshd allows failures, so that a password still has its try', () => {
    const files = Array.from({ length: 9 }, (_, i) => file(`/k${i}`))
    const offered = planMethods(credentials({ files, agentKeys: [aKey(), aKey()], password: 'pw' }))
    expect(offered.filter(({ kind }) => kind === 'key')).toHaveLength(MAX_KEY_OFFERS - 2)
  })

  it('takes the agent’s keys of the identity files first, and only those where the configuration says so', () => {
    const [one, two, three] = [aKey(), aKey(), aKey()]
    const named = [{ kind: 'locked' as const, file: '/l', publicBlob: two.getPublicSSH() }]
    expect(chooseAgentKeys([one, two, three], named, false)).toEqual([two, one, three])
    expect(chooseAgentKeys([one, two, three], named, true)).toEqual([two])
  })
})

describe('a sign-in', () => {
  it('skips what the server does not take, and remembers what it tried', () => {
    const signIn = new SignIn(credentials({ files: [file('/a')], password: 'hidden-word' }))
    expect(signIn.next()?.kind).toBe('none')
    signIn.offered = ['password']
    expect(signIn.next()?.kind).toBe('password')
    expect(signIn.next()).toBeUndefined()
    expect(signIn.tried).toEqual(['password'])
    expect(JSON.stringify([signIn.tried, signIn.offered])).not.toContain('hidden-word')
  })
})

describe('the next secret to ask for', () => {
  const locked = { kind: 'locked' as const, file: '/id' }
  const none = { passphrase: 0, password: 0 }
  const next = (files: Credentials['files'], offered: string[], asked = none, password?: string) =>
    nextSecret({ files, password }, offered, asked)

  it('is the passphrase of a locked key where keys are taken', () => {
    expect(next([locked], ['publickey', 'password'])).toEqual({ ask: 'passphrase', of: '/id', problem: '' })
    expect(next([{ ...locked, kind: 'wrong' }], ['publickey']).ask).toBe('passphrase')
  })

  it('is the password otherwise, and says so when one was refused', () => {
    expect(next([locked], ['password'])).toEqual({ ask: 'password', problem: '' })
    expect(next([], ['keyboard-interactive'], none, 'x')).toMatchObject({ ask: 'password', problem: /did not take/ })
  })

  it('is asked for three times and no more', () => {
    expect(next([], ['password'], { passphrase: 0, password: SECRET_TRIES }).ask).toBeUndefined()
    const refused = next([locked], ['publickey'], { passphrase: SECRET_TRIES, password: 0 })
    expect(refused).toMatchObject({ ask: undefined, fault: { code: 'ssh/passphrase-wrong' } })
  })

  it('is none where only keys are taken and none is locked', () => {
    expect(next([], ['publickey']).ask).toBeUndefined()
  })
})

describe('a key file', () => {
  let dir: string
  const at = (name: string) => path.join(dir, name)
  const keygen = (name: string, ...args: string[]) =>
    execFileSync('ssh-keygen', ['-q', '-C', '', '-f', at(name), ...args], { stdio: 'ignore' })
  beforeAll(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-keys-'))
    keygen('plain', '-t', 'ed25519', '-N', '')
    keygen('locked', '-t', 'ed25519', '-a', '1', '-N', 'opens')
    keygen('pkcs8', '-t', 'ecdsa', '-m', 'PKCS8', '-N', 'opens')
    keygen('pem', '-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', 'opens')
    fs.writeFileSync(at('junk'), 'not a key\n')
  })
  afterAll(() => fs.rmSync(dir, { recursive: true }))

  it.each([
    ['plain', undefined, 'key'],
    ['locked', undefined, 'locked'],
    ['locked', 'opens', 'key'],
    ['locked', 'other', 'wrong'],
    ['pkcs8', undefined, 'locked'],
    ['pkcs8', 'opens', 'key'],
    ['pkcs8', 'other', 'wrong'],
    ['pem', undefined, 'locked'],
    ['pem', 'opens', 'key'],
    ['pem', 'other', 'wrong'],
    ['plain.pub', undefined, 'unreadable'],
    ['junk', undefined, 'unreadable'],
    ['absent', undefined, 'missing'],
  ])('%s with passphrase %s is %s', async (name, phrase, kind) => {
    expect(await loadKeyFile(at(name), phrase)).toMatchObject({ kind, file: at(name) })
  })

  it('opened with the word typed as a password keeps that word from being sent to the host', async () => {
    const target = {
      user: 'ops',
      identityFiles: [at('locked'), at('absent')],
      identityAgent: '',
    } as unknown as SshTarget
    const ring = new KeyRing()
    const opened = await gatherCredentials(target, { password: 'opens' }, ring)
    expect(kinds(opened)).toEqual(['none', 'key'])
    const refused = await gatherCredentials(target, { password: 'opens' }, new KeyRing())
    expect(refused.password).toBeUndefined()
    const later = await gatherCredentials(target, {}, ring)
    expect(kinds(later)).toEqual(['none', 'key'])
  })

  it('that the password does not open leaves the password for the host', async () => {
    const target = { user: 'ops', identityFiles: [at('locked')], identityAgent: '' } as unknown as SshTarget
    const gathered = await gatherCredentials(target, { password: 'other' }, new KeyRing())
    expect(kinds(gathered)).toEqual(['none', 'password', 'keyboard'])
  })
})
