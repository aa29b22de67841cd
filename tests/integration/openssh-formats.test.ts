import { execFileSync } from 'node:child_process'
import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../src/main/control/hosts/ssh/host-keys.ts'
import {
  type CertificateBody,
  certificateLine,
  NO_END,
  parseCertificateLine,
  signCertificate,
} from '../../src/main/control/trust/openssh/certificate.ts'
import { readKrl, revokes, writeKrl } from '../../src/main/control/trust/openssh/krl.ts'
import { parsePrivateKey } from '../../src/main/control/trust/openssh/private-key.ts'
import { blobOf, canonicalLine, parsePublicKey } from '../../src/main/control/trust/openssh/public-key.ts'

const KEYS = [
  ['ed25519', []],
  ['ecdsa', ['-b', '256']],
  ['ecdsa', ['-b', '384']],
  ['ecdsa', ['-b', '521']],
  ['rsa', ['-b', '2048']],
] as const
const MOST = 2n ** 64n - 1n

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-formats-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

const keygen = (...args: string[]): string => execFileSync('ssh-keygen', args, { encoding: 'utf8', stdio: 'pipe' })
const read = (name: string): string => fs.readFileSync(path.join(dir, name), 'utf8')
const file = (name: string, content: string | Uint8Array): string => {
  fs.writeFileSync(path.join(dir, name), content)
  return path.join(dir, name)
}
/** A key of the real ssh-keygen, read by us. */
function newKey(name: string, type: string, options: readonly string[] = []): KeyObject {
  keygen('-q', '-t', type, ...options, '-N', '', '-C', name, '-f', path.join(dir, name))
  const parsed = parsePrivateKey(read(name), '')
  if (parsed.kind !== 'key') throw new Error(JSON.stringify(parsed))
  return parsed.key
}

const body = (change: Partial<CertificateBody> = {}): CertificateBody => ({
  kind: 'user',
  serial: 2n ** 63n,
  keyId: 'eitri default alice web1',
  principals: ['root', 'alice'],
  validAfter: 1_767_312_000n,
  validBefore: 1_767_313_800n,
  criticalOptions: { 'force-command': 'uptime' },
  extensions: ['permit-pty', 'permit-port-forwarding'],
  ...change,
})

describe('OpenSSH and we', () => {
  const subject = newKey('subject', 'ed25519')

  it.each(KEYS)('agree on what a certificate of an %s %j CA says, and on its signature', (type, options) => {
    const name = `ca-${type}${options.join('')}`
    const ca = newKey(name, type, options)
    const line = certificateLine(signCertificate(ca, blobOf(subject), body()), 'web1')
    const said = keygen('-L', '-f', file(`${name}-cert.pub`, line))
    expect(said).toContain('Type: ssh-ed25519-cert-v01@openssh.com user certificate')
    expect(said).toContain(`Public key: ED25519-CERT ${fingerprintOf(blobOf(subject))}`)
    expect(said).toContain(fingerprintOf(blobOf(ca)))
    expect(said).toContain('Serial: 9223372036854775808')
    expect(said).toContain('Key ID: "eitri default alice web1"')
    expect(said).toMatch(/Principals:\s+root\s+alice\s/)
    expect(said).toMatch(/Critical Options:\s+force-command uptime\s/)
    expect(said).toMatch(/Extensions:\s+permit-port-forwarding\s+permit-pty\s/)
    expect(said).toContain(`using ${type === 'rsa' ? 'rsa-sha2-512' : canonicalLine(blobOf(ca)).split(' ')[0]}`)
  })

  it.each(KEYS)('agree on what a certificate by ssh-keygen for an %s %j key says', (type, options) => {
    const name = `signed-${type}${options.join('')}`
    newKey(name, type, options)
    const ca = newKey(`${name}-ca`, type, options)
    const args = ['-q', '-s', path.join(dir, `${name}-ca`), '-I', 'someone', '-n', 'web.one', '-h', '-z', String(MOST)]
    keygen(...args, path.join(dir, `${name}.pub`))
    const ours = parseCertificateLine(read(`${name}-cert.pub`).trim())
    expect(ours).toMatchObject({ kind: 'host', serial: MOST, keyId: 'someone', principals: ['web.one'], signed: true })
    expect(ours).toMatchObject({ validAfter: 0n, validBefore: NO_END, extensions: [] })
    expect(ours?.caBlob.equals(blobOf(ca))).toBe(true)
    expect(ours?.keyBlob.equals(parsePublicKey(read(`${name}.pub`).trim())!.blob)).toBe(true)
  })

  it.each(KEYS)('agree on the public half of an %s %j key', (type, options) => {
    const name = `half-${type}${options.join('')}`
    const key = newKey(name, type, options)
    expect(`${canonicalLine(blobOf(key))} ${name}\n`).toBe(read(`${name}.pub`))
  })

  it('open the same keys: OpenSSH and PEM, with a passphrase and without, and nothing with the wrong one', () => {
    for (const format of ['RFC4716', 'PEM', 'PKCS8'])
      for (const type of ['rsa', 'ecdsa', ...(format === 'RFC4716' ? ['ed25519'] : [])]) {
        const name = `locked-${format}-${type}`
        keygen('-q', '-t', type, '-N', 'open sesame', '-C', '', '-m', format, '-a', '4', '-f', path.join(dir, name))
        expect(parsePrivateKey(read(name), ''), name).toEqual({ kind: 'locked' })
        expect(parsePrivateKey(read(name), 'wrong'), name).toEqual({ kind: 'wrong' })
        const opened = parsePrivateKey(read(name), 'open sesame')
        expect(opened.kind === 'key' && canonicalLine(blobOf(opened.key)), name).toBe(
          read(`${name}.pub`).trim().split(' ').slice(0, 2).join(' '),
        )
      }
  })

  it('leaves a key alone whose passphrase would take minutes to try, and says how to rewrite it', () => {
    keygen('-q', '-t', 'ed25519', '-N', 'x', '-a', '4', '-f', path.join(dir, 'slow'))
    const text = Buffer.from(read('slow').split('\n').slice(1, -2).join(''), 'base64')
    text.writeUInt32BE(4_000_000_000, text.indexOf(Buffer.from([0, 0, 0, 4]), 60))
    const slow = `-----BEGIN OPENSSH PRIVATE KEY-----\n${text.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`
    const started = performance.now()
    expect(parsePrivateKey(slow, 'x')).toMatchObject({
      kind: 'unfit',
      detail: expect.stringContaining('ssh-keygen -p'),
    })
    expect(performance.now() - started).toBeLessThan(500)
  })

  it('sign with no key that servers refuse', () => {
    keygen('-q', '-t', 'rsa', '-b', '1024', '-N', '', '-f', path.join(dir, 'small'))
    expect(parsePrivateKey(read('small'), '')).toMatchObject({ kind: 'unfit', detail: expect.stringContaining('2048') })
    expect(parsePrivateKey(read('small.pub'), '')).toMatchObject({ kind: 'unfit' })
    const ed448 = createPrivateKey({ key: ED448, format: 'pem' }).export({ type: 'pkcs8', format: 'pem' }) as string
    expect(parsePrivateKey(ed448, '')).toMatchObject({ kind: 'unfit', detail: expect.stringContaining('ed448') })
  })

  it('agree on what our list of revoked certificates revokes', () => {
    const [ca, other] = [newKey('krl-ca', 'ed25519'), newKey('krl-other', 'ecdsa')]
    const certificate = (signer: KeyObject, serial: bigint) => {
      const line = certificateLine(signCertificate(signer, blobOf(subject), body({ serial })), '')
      return file(`${signer === ca ? 'ca' : 'other'}-${serial}-cert.pub`, line)
    }
    const list = file(
      'ours.krl',
      writeKrl({
        version: 3n,
        generatedAt: 1_767_312_000n,
        comment: 'eitri default',
        revoked: [
          { caBlob: blobOf(ca), serials: [5n, 2n ** 63n, MOST] },
          { caBlob: undefined, serials: [77n] },
        ],
      }),
    )
    const told = (name: string) => {
      try {
        return keygen('-Q', '-f', list, name)
      } catch (error) {
        return String((error as { stdout: string }).stdout)
      }
    }
    for (const serial of [5n, 2n ** 63n, MOST, 77n]) expect(told(certificate(ca, serial))).toContain('REVOKED')
    for (const serial of [4n, 6n, 2n ** 63n - 1n]) expect(told(certificate(ca, serial))).toMatch(/: ok$/m)
    expect(told(certificate(other, 5n))).toMatch(/: ok$/m)
    expect(told(certificate(other, 77n))).toContain('REVOKED')
    const shown = keygen('-Q', '-l', '-f', list)
    expect(shown).toContain('# KRL version 3')
    expect(shown).toContain('serial: 5')
    expect(shown).toContain(`serial: ${MOST}`)
    expect(
      keygen('-Q', '-l', '-f', file('empty.krl', writeKrl({ version: 1n, generatedAt: 1n, comment: '', revoked: [] }))),
    ).toContain('KRL version 1')
  })

  it('agree on what a list by ssh-keygen revokes: single serials, ranges and bitmaps', () => {
    const ca = newKey('their-ca', 'rsa', ['-b', '2048'])
    const serials = [
      ...Array.from({ length: 40 }, (_, i) => i * 3 + 1),
      1_000,
      ...Array.from({ length: 500 }, (_, i) => 5_000 + i),
    ]
    const spec = file('spec', serials.map((serial) => `serial: ${serial}\n`).join(''))
    keygen('-q', '-k', '-f', path.join(dir, 'theirs.krl'), '-s', path.join(dir, 'their-ca.pub'), '-z', '9', spec)
    const krl = readKrl(fs.readFileSync(path.join(dir, 'theirs.krl')))!
    expect(krl.version).toBe(9n)
    const revoked = krl.revoked.flatMap((section) => section.serials).sort((a, b) => Number(a - b))
    expect(revoked).toEqual(serials.map(BigInt).sort((a, b) => Number(a - b)))
    expect(revokes(krl, blobOf(ca), 1_000n) && !revokes(krl, blobOf(subject), 1_000n)).toBe(true)
  })

  it('are both right about random certificates', () => {
    const ca = newKey('random-ca', 'ed25519')
    for (let i = 0; i < 20; i++) {
      const serial = randomBytes(8).readBigUInt64BE()
      const line = certificateLine(signCertificate(ca, blobOf(subject), body({ serial, keyId: `k${i}` })), '')
      expect(keygen('-L', '-f', file('random-cert.pub', line))).toContain(`Serial: ${serial}\n`)
      expect(parseCertificateLine(line)?.serial).toBe(serial)
    }
  })
})

const ED448 = `-----BEGIN PRIVATE KEY-----
MEcCAQAwBQYDK2VxBDsEObD/LZBTCD01gbbxbW9OrSVkLgM5sRYqiKfNl/1asGdO
ktOrfpzKUgSuXzBlz+uGlFuHTvEGhjA/nA==
-----END PRIVATE KEY-----
`
