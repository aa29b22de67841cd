import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type Acceptance,
  type CertificateBody,
  certificateLine,
  certificateType,
  NO_END,
  parseCertificate,
  parseCertificateLine,
  refusalOf,
  signCertificate,
} from '../../../../../src/main/control/trust/openssh/certificate.ts'
import { blobOf } from '../../../../../src/main/control/trust/openssh/public-key.ts'
import { str } from '../../../../../src/main/control/trust/openssh/wire.ts'

const newKey = () => generateKeyPairSync('ed25519').privateKey
const [ca, otherCa, guest] = [newKey(), newKey(), newKey()]
const NOW = Date.UTC(2026, 0, 2)
const SECONDS = BigInt(NOW / 1000)

const body = (change: Partial<CertificateBody> = {}): CertificateBody => ({
  kind: 'user',
  serial: 2n ** 63n,
  keyId: 'eitri default',
  principals: ['root'],
  validAfter: SECONDS - 60n,
  validBefore: SECONDS + 1800n,
  criticalOptions: {},
  extensions: ['permit-pty', 'permit-port-forwarding'],
  ...change,
})
const signed = (change: Partial<CertificateBody> = {}, signer = ca) =>
  signCertificate(signer, blobOf(guest), body(change))
const want = (change: Partial<Acceptance> = {}): Acceptance => ({
  kind: 'user',
  cas: [blobOf(ca)],
  principal: 'root',
  now: NOW,
  isRevoked: () => false,
  ...change,
})
const refusal = (blob: Buffer, change: Partial<Acceptance> = {}) => {
  const certificate = parseCertificate(blob)
  return certificate ? refusalOf(certificate, want(change)) : 'malformed'
}

describe('a certificate', () => {
  it('says after reading what it said at signing, a serial past what a number holds included', () => {
    const line = certificateLine(signed({ criticalOptions: { 'force-command': 'uptime' } }), 'web1')
    expect(parseCertificateLine(line)).toEqual({
      ...body({
        extensions: ['permit-port-forwarding', 'permit-pty'],
        criticalOptions: { 'force-command': 'uptime' },
      }),
      type: 'ssh-ed25519-cert-v01@openssh.com',
      keyBlob: blobOf(guest),
      caBlob: blobOf(ca),
      signed: true,
    })
  })

  it('is accepted exactly for its principal, its window, its kind and its CA', () => {
    expect(refusal(signed())).toBeUndefined()
    expect(refusal(signed(), { principal: 'alice' })).toBe('wrong-principal')
    expect(refusal(signed(), { kind: 'host' })).toBe('wrong-kind')
    expect(refusal(signed({}, otherCa))).toBe('unknown-ca')
    expect(refusal(signed(), { isRevoked: ({ serial }) => serial === 2n ** 63n })).toBe('revoked')
    expect(refusal(signed({ criticalOptions: { 'source-address': '192.0.2.1' } }))).toBe('critical-option')
  })

  it('is good from the first second of its window to the last, and neither before nor after', () => {
    expect(refusal(signed(), { now: NOW - 60_001 })).toBe('not-yet-valid')
    expect(refusal(signed(), { now: NOW - 60_000 })).toBeUndefined()
    expect(refusal(signed(), { now: NOW + 1_799_999 })).toBeUndefined()
    expect(refusal(signed(), { now: NOW + 1_800_000 })).toBe('expired')
    expect(refusal(signed({ validBefore: NO_END }), { now: NOW * 10 })).toBeUndefined()
  })

  it('is refused with any of its bytes changed', () => {
    const blob = signed()
    for (let at = 0; at < blob.length; at++) {
      const changed = Buffer.from(blob)
      changed[at]! ^= 1
      expect(refusal(changed), `byte ${at}`).toBeDefined()
    }
  })

  it('is never made without a principal, which would be good for everybody', () => {
    expect(() => signed({ principals: [] })).toThrow('no principals')
    expect(() => signed({ principals: [''] })).toThrow('no principals')
  })

  it('is never made for a window that has no second in it', () => {
    expect(() => signed({ validBefore: SECONDS - 60n })).toThrow('never be good')
  })

  it('of a security key keeps the application its key is for', () => {
    const token = Buffer.concat([str('sk-ssh-ed25519@openssh.com'), str(randomBytes(32)), str('ssh:')])
    const blob = signCertificate(ca, token, body())
    const read = parseCertificate(blob)
    expect(read?.type).toBe('sk-ssh-ed25519-cert-v01@openssh.com')
    expect(read?.keyBlob.equals(token)).toBe(true)
    expect(refusal(blob)).toBeUndefined()
  })

  it('is not read out of anything else', () => {
    const line = certificateLine(signed(), '')
    for (const text of ['', 'x', 'ssh-ed25519 AAAA', line.slice(0, -40), line.replace('cert-v01', 'cert-v00')])
      expect(parseCertificateLine(text), text.slice(0, 60)).toBeUndefined()
    expect(
      parseCertificateLine(`${certificateType('ssh-ed25519')} ${str('ssh-dss').toString('base64')}`),
    ).toBeUndefined()
    for (let cut = 0; cut < 300; cut++) expect(parseCertificate(signed().subarray(0, cut))).toBeUndefined()
    for (let i = 0; i < 200; i++) expect(parseCertificate(randomBytes(i))).toBeUndefined()
  })
})
