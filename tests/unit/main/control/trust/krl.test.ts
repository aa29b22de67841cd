import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type Krl,
  MAX_KRL_SERIALS,
  readKrl,
  revokes,
  writeKrl,
} from '../../../../../src/main/control/trust/openssh/krl.ts'
import { blobOf } from '../../../../../src/main/control/trust/openssh/public-key.ts'

const caBlob = () => blobOf(generateKeyPairSync('ed25519').publicKey)
const [first, second] = [caBlob(), caBlob()]
const MOST = 2n ** 64n - 1n
const krl = (revoked: Krl['revoked']): Krl => ({ version: 7n, generatedAt: 1_767_312_000n, comment: 'eitri', revoked })

describe('a list of revoked certificates', () => {
  it('revokes a serial of its CA alone, and one without a CA of every CA', () => {
    const read = readKrl(
      writeKrl(
        krl([
          { caBlob: first, serials: [1n, MOST] },
          { caBlob: undefined, serials: [9n] },
        ]),
      ),
    )!
    expect(revokes(read, first, 1n)).toBe(true)
    expect(revokes(read, first, MOST)).toBe(true)
    expect(revokes(read, second, 1n)).toBe(false)
    expect(revokes(read, first, 9n) && revokes(read, second, 9n)).toBe(true)
    expect(read).toMatchObject({ version: 7n, generatedAt: 1_767_312_000n, comment: 'eitri' })
  })

  it('has the same bytes for the same serials, whatever their order', () => {
    const one = writeKrl(
      krl([
        { caBlob: first, serials: [3n, 1n, 3n] },
        { caBlob: second, serials: [2n] },
      ]),
    )
    const two = writeKrl(
      krl([
        { caBlob: second, serials: [2n] },
        { caBlob: first, serials: [1n, 3n] },
      ]),
    )
    expect(one.equals(two)).toBe(true)
  })

  it('that revokes serial 0 is none, as OpenSSH takes no such list either', () => {
    const written = writeKrl(krl([{ caBlob: first, serials: [0x1122334455667788n] }]))
    const zero = Buffer.from(written.toString('hex').replace('1122334455667788', '0'.repeat(16)), 'hex')
    expect(readKrl(zero)).toBeUndefined()
  })

  it('may be empty', () => {
    expect(readKrl(writeKrl(krl([])))).toEqual(krl([]))
  })

  it('takes no more serials than its bound, and never serial 0', () => {
    const many = Array.from({ length: MAX_KRL_SERIALS }, (_, i) => BigInt(i + 1))
    expect(readKrl(writeKrl(krl([{ caBlob: first, serials: many }])))?.revoked[0]?.serials).toHaveLength(
      MAX_KRL_SERIALS,
    )
    expect(() => writeKrl(krl([{ caBlob: first, serials: [...many, MOST] }]))).toThrow('too many')
    expect(() => writeKrl(krl([{ caBlob: first, serials: [0n] }]))).toThrow('serial 0')
  })

  it('is not read out of anything else, nor out of half of one', () => {
    const whole = writeKrl(krl([{ caBlob: first, serials: [1n, 2n] }]))
    const inside = [44, 45, 50, whole.length - 1]
    for (const cut of inside)
      expect(readKrl(whole.subarray(0, cut)), String(cut)).toSatisfy((k) => !k || k.revoked.length === 0)
    for (let i = 0; i < 200; i++) expect(readKrl(randomBytes(i))).toBeUndefined()
  })
})
