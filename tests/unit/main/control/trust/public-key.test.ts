import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { blobOf, canonicalLine, parsePublicKey } from '../../../../../src/main/control/trust/openssh/public-key.ts'
import { str } from '../../../../../src/main/control/trust/openssh/wire.ts'

const blob = (type: string, ...fields: (Buffer | string)[]) => Buffer.concat([type, ...fields].map(str))
const point = blobOf(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey).subarray(-65)
const bytes = (...all: number[]) => Buffer.from(all)

it.each([
  ['of too few bytes', blob('ssh-ed25519', Buffer.alloc(5))],
  ['of another curve', blob('ecdsa-sha2-nistp256', 'nistp384', point)],
  ['whose point is on no curve', blob('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(65, 4))],
  ['of RSA that anybody factors', blob('ssh-rsa', bytes(1), bytes(5))],
  ['of RSA with negative numbers', blob('ssh-rsa', bytes(0x81), bytes(0x85))],
  ['of a token with too few bytes', blob('sk-ssh-ed25519@openssh.com', Buffer.alloc(3), 'ssh:')],
  [
    'of a token whose point is on no curve',
    blob('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', Buffer.alloc(65, 4), 'ssh:'),
  ],
])('a key %s is none', (_, key) => {
  expect(parsePublicKey(canonicalLine(key))).toBeUndefined()
})

it.each([
  ['ed25519', blobOf(generateKeyPairSync('ed25519').publicKey)],
  ['nistp521', blobOf(generateKeyPairSync('ec', { namedCurve: 'secp521r1' }).publicKey)],
  ['RSA', blobOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey)],
  [
    'an ed25519 token',
    blob('sk-ssh-ed25519@openssh.com', blobOf(generateKeyPairSync('ed25519').publicKey).subarray(-32), 'ssh:'),
  ],
  ['a nistp256 token', blob('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point, 'ssh:')],
])('a key of %s is one', (_, key) => {
  expect(parsePublicKey(canonicalLine(key))?.blob.equals(key)).toBe(true)
})
