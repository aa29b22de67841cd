import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  hasAuthority,
  hostKeyOf,
  judgeHostKey,
  parseKnownHosts,
} from '../../../../../../src/main/control/hosts/ssh/host-keys.ts'
import { signCertificate } from '../../../../../../src/main/control/trust/openssh/certificate.ts'
import { blobOf } from '../../../../../../src/main/control/trust/openssh/public-key.ts'

const aCa = () => generateKeyPairSync('ed25519').privateKey
const [ca, otherCa] = [aCa(), aCa()]
const key = blobOf(aCa())
const certificate = signCertificate(ca, key, {
  kind: 'host',
  serial: 1n,
  keyId: 'rack1',
  principals: ['rack1'],
  validAfter: 0n,
  validBefore: 0xffff_ffff_ffff_ffffn,
  criticalOptions: {},
  extensions: [],
})
const line = (marker: string, hosts: string, blob: Buffer) => `${marker}${hosts} ssh-ed25519 ${blob.toString('base64')}`
const judge = (text: string, presented = certificate, port = 22) =>
  judgeHostKey(parseKnownHosts(text), 'rack1', port, presented)

describe('a host key in a certificate', () => {
  const trusted = line('@cert-authority ', '*', blobOf(ca))

  it('is taken on the word of an authority that known_hosts trusts for the host', () => {
    expect(judge(trusted)).toEqual({ kind: 'ok', authority: true })
    expect(judge(line('@cert-authority ', 'rack1', blobOf(ca)), certificate, 2222)).toEqual({
      kind: 'ok',
      authority: true,
    })
  })

  it.each([
    ['of another authority', line('@cert-authority ', '*', blobOf(otherCa)), 'unknown'],
    ['of an authority for other hosts', line('@cert-authority ', 'web*', blobOf(ca)), 'unknown'],
    ['of an authority that stands there as a plain key', line('', 'rack1', blobOf(ca)), 'changed'],
    ['of a revoked authority', `${trusted}\n${line('@revoked ', '*', blobOf(ca))}`, 'revoked'],
    ['for a revoked key', `${trusted}\n${line('@revoked ', '*', key)}`, 'revoked'],
    ['for a key that is known without it', line('', 'rack1', key), 'ok'],
  ])('%s is judged as its key alone', (_, text, kind) => expect(judge(text).kind).toBe(kind))

  it('is not taken when somebody changed a byte of it', () => {
    const forged = Buffer.from(certificate)
    forged[forged.length - 1]! ^= 1
    expect(judge(trusted, forged).kind).toBe('unknown')
  })

  it('is shown by the fingerprint of the key itself', () => {
    expect(hostKeyOf(certificate)).toEqual(hostKeyOf(key))
  })

  it('is only looked for where an authority may vouch for the host', () => {
    const entries = parseKnownHosts(trusted)
    expect(hasAuthority(entries, 'rack1', 2222)).toBe(true)
    expect(hasAuthority(parseKnownHosts(line('', 'rack1', key)), 'rack1', 22)).toBe(false)
  })
})
