import { createHash, createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  fingerprintOf,
  HOST_KEY_ALGORITHMS,
  hostKeyOf,
  hostKeyOrder,
  judgeHostKey,
  parseKnownHosts,
} from '../../../../../../src/main/control/hosts/ssh/host-keys.ts'

const field = (bytes: Buffer | string) => {
  const body = Buffer.from(bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}
const aKey = (type = 'ssh-ed25519') => Buffer.concat([field(type), field(randomBytes(32))])
const line = (hosts: string, key: Buffer, type = 'ssh-ed25519') => `${hosts} ${type} ${key.toString('base64')}`
const hashed = (name: string) => {
  const salt = randomBytes(20)
  const hash = createHmac('sha1', salt).update(name).digest('base64')
  return `|1|${salt.toString('base64')}|${hash}`
}
const judge = (text: string, key: Buffer, host = 'rack1', port = 22) =>
  judgeHostKey(parseKnownHosts(text), host, port, key).kind

describe('host keys', () => {
  const key = aKey()
  const other = aKey()

  it('prints a fingerprint as OpenSSH does', () => {
    const digest = createHash('sha256').update(key).digest('base64').replace(/=+$/, '')
    expect(fingerprintOf(key)).toBe(`SHA256:${digest}`)
    expect(hostKeyOf(key)).toMatchObject({ type: 'ssh-ed25519', fingerprint: `SHA256:${digest}` })
  })

  it('refuses what is no key at all', () => {
    expect(hostKeyOf(Buffer.from('xx'))).toBeUndefined()
    expect(judge('', Buffer.from([0, 0, 0, 200, 1]))).toBe('invalid')
  })

  it.each([
    ['a plain name', line('rack1', key), 'ok'],
    ['a name among others', line('rack0,rack1,10.0.0.1', key), 'ok'],
    ['capitals', line('RACK1', key), 'ok'],
    ['a hashed name', line(hashed('rack1'), key), 'ok'],
    ['a wildcard', line('rack?', key), 'ok'],
    ['a trailing comment and tabs', `rack1\tssh-ed25519\t${key.toString('base64')} ops@desk`, 'ok'],
    ['CRLF line ends', `# list\r\n${line('rack1', key)}\r\n`, 'ok'],
    ['a negated name', line('rack*,!rack1', key), 'unknown'],
    ['a hashed other name', line(hashed('rack2'), key), 'unknown'],
    ['another port', line('[rack1]:2222', key), 'unknown'],
    ['no file at all', '', 'unknown'],
    ['a line that is broken', 'rack1 ssh-ed25519 !!!', 'unknown'],
    ['a type that is not the key’s', line('rack1', key, 'ssh-rsa'), 'unknown'],
    ['another key of the same type', line('rack1', other), 'changed'],
    ['a second line with the right key', `${line('rack1', other)}\n${line('rack1', key)}`, 'ok'],
    ['a revoked key', `@revoked ${line('*', key)}`, 'revoked'],
    ['a revocation after an accepting line', `${line('rack1', key)}\n@revoked ${line('rack1', key)}`, 'revoked'],
    ['the revocation of another key', `@revoked ${line('rack1', other)}`, 'unknown'],
    ['a certificate authority', `@cert-authority ${line('rack1', other)}`, 'unknown'],
    ['a certificate authority that is the key itself', `@cert-authority ${line('rack1', key)}`, 'unknown'],
    ['a marker nobody knows', `@later ${line('rack1', other)}`, 'unknown'],
  ])('reads %s', (_, text, kind) => expect(judge(text, key)).toBe(kind))

  it('finds a host on another port by its bracketed name', () => {
    expect(judge(line('[rack1]:2222', key), key, 'rack1', 2222)).toBe('ok')
    expect(judge(line('[rack1]:2222', other), key, 'rack1', 2222)).toBe('changed')
  })

  it('takes a key on file without a port for any port, as OpenSSH does, and another one there for no news', () => {
    expect(judge(line('rack1', key), key, 'rack1', 2222)).toBe('ok')
    expect(judge(line('rack1', other), key, 'rack1', 2222)).toBe('unknown')
    expect(judge(`@revoked ${line('rack1', key)}`, key, 'rack1', 2222)).toBe('revoked')
    expect(judge(`${line('[rack1]:2222', other)}\n${line('rack1', key)}`, key, 'rack1', 2222)).toBe('changed')
  })

  it('says which key was known before a change', () => {
    const verdict = judgeHostKey(parseKnownHosts(line('rack1', other)), 'rack1', 22, key)
    expect(verdict.kind === 'changed' && verdict.known.blob.equals(other)).toBe(true)
  })

  it('tells a key of another type from a first contact', () => {
    expect(judge(line('rack1', aKey('ssh-rsa'), 'ssh-rsa'), key)).toBe('other-type-known')
  })

  it('asks for the known types first, an RSA key by its modern signatures', () => {
    const known = parseKnownHosts(line('rack1', aKey('ssh-rsa'), 'ssh-rsa'))
    expect(hostKeyOrder(known, 'rack1', 22).slice(0, 2)).toEqual(['rsa-sha2-512', 'rsa-sha2-256'])
    expect(hostKeyOrder(known, 'rack2', 22)).toEqual([...HOST_KEY_ALGORITHMS])
    const authority = parseKnownHosts(`@cert-authority ${line('rack1', aKey('ssh-rsa'), 'ssh-rsa')}`)
    expect(hostKeyOrder(authority, 'rack1', 22)).toEqual([...HOST_KEY_ALGORITHMS])
  })

  it('matches a hostile pattern in no time', () => {
    const started = performance.now()
    expect(judge(line(`${'*a'.repeat(2_000)}*b`, key), key, 'a'.repeat(200))).toBe('unknown')
    expect(performance.now() - started).toBeLessThan(500)
  })
})
