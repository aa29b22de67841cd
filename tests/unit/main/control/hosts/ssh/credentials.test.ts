import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planMethods } from '../../../../../../src/main/control/hosts/ssh/auth-plan.ts'
import type { SshTarget } from '../../../../../../src/main/control/hosts/ssh/config.ts'
import {
  type Credentials,
  chooseAgentKeys,
  gatherCredentials,
  KeyRing,
} from '../../../../../../src/main/control/hosts/ssh/credentials.ts'
import { loadKeyFile } from '../../../../../../src/main/control/hosts/ssh/key-file.ts'
import { newSshKey } from '../../../../../support/ssh-key.ts'

const target = (identityFiles: string[]) => ({ user: 'ops', identityFiles, identityAgent: '' }) as unknown as SshTarget
const kinds = (c: Credentials) => planMethods(c).methods.map((method) => method.kind)

describe('the keys of an agent', () => {
  it('are those of the identity files first, and only those where the configuration says so', () => {
    const [one, two, three] = [newSshKey().key, newSshKey().key, newSshKey().key]
    const named = [{ kind: 'locked' as const, file: '/l', publicBlob: two.getPublicSSH() }]
    expect(chooseAgentKeys([one, two, three], named, false)).toEqual([two, one, three])
    expect(chooseAgentKeys([one, two, three], named, true)).toEqual([two])
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
    const files = target([at('locked'), at('absent')])
    const ring = new KeyRing()
    const opened = await gatherCredentials(files, { password: 'opens' }, ring)
    expect(kinds(opened)).toEqual(['none', 'key', 'keyboard'])
    expect(opened.password).toBeUndefined()
    expect(kinds(await gatherCredentials(files, {}, ring))).toEqual(['none', 'key', 'keyboard'])
    ring.clear()
    expect(kinds(await gatherCredentials(files, {}, ring))).toEqual(['none', 'keyboard'])
  })

  it('that the password does not open leaves the password for the host', async () => {
    const gathered = await gatherCredentials(target([at('locked')]), { password: 'other' }, new KeyRing())
    expect(kinds(gathered)).toEqual(['none', 'keyboard', 'password'])
  })
})
