import { Fault } from '../../../ipc/faults.ts'
import type { CasStore } from '../store/cas-store.ts'
import type { CertificatesStore, RevokedRow } from '../store/certificates-store.ts'
import { blobIn } from './authorities.ts'
import { NO_END, parseCertificateLine } from './openssh/certificate.ts'
import { type RevokedSerials, writeKrl } from './openssh/krl.ts'
import { canonicalLine } from './openssh/public-key.ts'

export interface RevocationDeps {
  cas: CasStore
  certificates: CertificatesStore
}

export interface RevokeRequest {
  tenant: string
  /** A 64-bit number; empty = the certificate says it. */
  serial: string
  /** A certificate line; empty = the serial says it. */
  certificate: string
  reason: string
}

/**
 * The tenant's list as guests get it; empty = nothing is revoked. Equal rows give equal bytes. A serial whose CA is not
 * known is revoked for every CA.
 */
export function krlOf({ cas, certificates }: RevocationDeps, tenant: string): Buffer {
  const rows = certificates.listRevoked(tenant)
  if (rows.length === 0) return Buffer.alloc(0)
  const blobs = new Map(cas.list(tenant).map((ca) => [ca.fingerprint, blobIn(ca)]))
  const sections = new Map<string, { caBlob: Buffer | undefined; serials: bigint[] }>()
  for (const { caFingerprint, serial } of rows) {
    const caBlob = blobs.get(caFingerprint)
    const name = caBlob ? caFingerprint : ''
    const section = sections.get(name) ?? { caBlob, serials: [] }
    section.serials.push(BigInt(serial))
    sections.set(name, section)
  }
  const newest = Math.max(...rows.map(({ revokedAt }) => revokedAt.getTime()))
  const revoked: RevokedSerials[] = [...sections.values()]
  return writeKrl({
    version: BigInt(newest),
    generatedAt: BigInt(Math.floor(newest / 1000)),
    comment: `eitri ${tenant}`,
    revoked,
  })
}

/**
 * Idempotent. Raises input/invalid, certificate/none for what is no certificate, certificate/not-found for one whose CA is
 * not this tenant's, certificate/of-host, and certificate/too-many-revoked.
 */
export function revoke(deps: RevocationDeps, request: RevokeRequest): RevokedRow {
  const { tenant, serial, reason } = request
  const named = request.certificate === '' ? undefined : readCertificate(deps, tenant, request.certificate)
  if (named && serial !== '' && serial !== named.serial)
    throw invalid('serial', serial, `the certificate given has serial ${named.serial}`)
  const known = named ? undefined : deps.certificates.find(tenant, serial)
  if (known?.kind === 'host') throw new Fault('certificate/of-host', 'permanent', { serial: known.serial })
  return deps.certificates.revoke({
    tenant,
    serial: named?.serial ?? serial,
    caFingerprint: named?.caFingerprint ?? known?.caFingerprint ?? '',
    validBefore: named?.validBefore ?? known?.validBefore ?? null,
    reason,
  })
}

function readCertificate({ cas }: RevocationDeps, tenant: string, line: string) {
  const certificate = parseCertificateLine(line)
  if (!certificate?.signed) throw new Fault('certificate/none', 'permanent')
  const ca = cas.findByKey(canonicalLine(certificate.caBlob))
  const serial = String(certificate.serial)
  if (ca?.tenant !== tenant) throw new Fault('certificate/not-found', 'permanent', { serial })
  if (certificate.kind === 'host') throw new Fault('certificate/of-host', 'permanent', { serial })
  if (certificate.serial === 0n)
    throw invalid('certificate', '', 'it has no serial number to revoke it by; retire the CA that signed it')
  return { serial, caFingerprint: ca.fingerprint, validBefore: endOf(certificate.validBefore) }
}

/** Null = later than dates go. */
const endOf = (seconds: bigint): Date | null =>
  seconds === NO_END || seconds > 8_640_000_000_000n ? null : new Date(Number(seconds) * 1000)

const invalid = (field: string, value: string, problem: string): Fault =>
  new Fault('input/invalid', 'permanent', { field, value, problem })
