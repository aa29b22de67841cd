import { describe, expect, it } from 'vitest'
import { faultLine } from '../../../src/ipc/fault-text.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import { decodeJoinBlob, encodeJoinBlob, type JoinBlob } from '../../../src/ipc/join-blob.ts'

const BLOB: JoinBlob = {
  fleetId: 'f'.repeat(32),
  publicKey: `ssh-ed25519 ${Buffer.alloc(51, 7).toString('base64')}`,
  token: Buffer.alloc(32, 9).toString('base64url'),
  expiresAt: 1_800_000_000,
}

/** Any run of so many characters of the blob in the words would be a leak. */
const LEAK = 6

function wordsOf(blob: string): string {
  try {
    decodeJoinBlob(blob)
  } catch (error) {
    if (error instanceof Fault) return faultLine(error.code, error.params)
  }
  throw new Error('it was taken')
}

const raw = (text: string) => Buffer.from(text).toString('base64url')

describe('a join blob', () => {
  it('comes back as what went in, blanks around it or not', () => {
    const blob = encodeJoinBlob(BLOB)
    expect(blob).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(decodeJoinBlob(`\n ${blob} \n`)).toEqual(BLOB)
  })

  it('that is cut short or changed anywhere is refused', () => {
    const blob = encodeJoinBlob(BLOB)
    for (let at = 0; at < blob.length; at++) {
      const other = blob[at] === 'A' ? 'B' : 'A'
      expect(() => decodeJoinBlob(blob.slice(0, at) + other + blob.slice(at + 1)), `${at}`).toThrow()
      expect(() => decodeJoinBlob(blob.slice(0, at)), `cut at ${at}`).toThrow()
    }
  })

  it.each([
    ['', 'it is empty'],
    ['se cret!se cret!', 'it has characters that no join blob has'],
    ['secretsecretsecret', 'it is something else, or a part of it is missing'],
    ['a'.repeat(3_000), 'it is longer than any join blob'],
    [raw('{"v":1,"token":"secretsecret"}\ndeadbeef'), 'its checksum does not match'],
    [encodeJoinBlob({ ...BLOB, publicKey: `${BLOB.publicKey} secret\nssh-rsa more` }), 'its fields cannot be read'],
    [encodeJoinBlob({ ...BLOB, fleetId: 'secretsecret' }), 'its fields cannot be read'],
    [encodeJoinBlob({ ...BLOB, expiresAt: 253_402_300_800 }), 'its fields cannot be read'],
  ])('garbage is refused with its cause and no part of it: %#', (blob, cause) => {
    const words = wordsOf(blob)
    expect(words).toContain(`invalid join blob: ${cause}`)
    for (const text of [blob, Buffer.from(blob, 'base64url').toString('latin1')])
      for (let at = 0; at + LEAK <= text.length; at++) expect(words).not.toContain(text.slice(at, at + LEAK))
    expect(words).not.toContain('secret')
  })
})
