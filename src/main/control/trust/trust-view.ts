import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type Ca,
  CaSchema,
  type Certificate,
  CertificateSchema,
  type RevokedCertificate,
  RevokedCertificateSchema,
  type VmTrust,
  VmTrustSchema,
} from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { CaRow } from '../store/cas-store.ts'
import type { CertificateRow, RevokedRow } from '../store/certificates-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import { parsePublicKey } from './openssh/public-key.ts'
import { hostCertificateFields } from './vm-trust-view.ts'

/** `problem` is empty when its private key can be used, or is kept elsewhere. */
export const caView = (row: CaRow, usedBy: number, problem: string): Ca =>
  create(CaSchema, {
    id: row.id,
    kind: row.kind,
    name: row.name,
    publicKey: row.publicKey,
    fingerprint: row.fingerprint,
    held: row.held,
    state: row.state,
    createdAt: timestampFromDate(row.createdAt),
    ...(row.retiredAt ? { retiredAt: timestampFromDate(row.retiredAt) } : {}),
    usedBy,
    problem,
  })

export const certificateView = (row: CertificateRow): Certificate =>
  create(CertificateSchema, {
    serial: row.serial,
    kind: row.kind,
    caFingerprint: row.caFingerprint,
    keyId: row.keyId,
    principals: row.principals,
    keyFingerprint: row.keyFingerprint,
    vmId: row.vmId,
    validAfter: timestampFromDate(row.validAfter),
    validBefore: timestampFromDate(row.validBefore),
    issuedAt: timestampFromDate(row.issuedAt),
    ...(row.revokedAt ? { revokedAt: timestampFromDate(row.revokedAt) } : {}),
  })

export const revokedView = ({ serial, revokedAt, reason, caFingerprint }: RevokedRow): RevokedCertificate =>
  create(RevokedCertificateSchema, { serial, revokedAt: timestampFromDate(revokedAt), reason, caFingerprint })

export interface VmTrustAround {
  /** User CAs of the tenant in use. */
  inUse: readonly CaRow[]
  /** Whether its private key is to be had here. */
  isUsable(ca: CaRow): boolean
  /** What the host last said of the guest's list; undefined = nothing. */
  revocations: { revocations?: string; detail?: string } | undefined
}

/** Who trusts what, of one VM. */
export function vmTrustView(vm: VmRow, { inUse, isUsable, revocations }: VmTrustAround): VmTrust {
  const host = hostCertificateFields(vm.hostCertificate)
  const opening = inUse.filter((ca) => vm.trustedCas?.includes(ca.publicKey) && isUsable(ca))
  const older = opening.length > 0 && opening.every((ca) => ca.createdAt > vm.createdAt)
  return create(VmTrustSchema, {
    vmId: vm.id,
    vmName: vm.name,
    userCas: (vm.trustedCas ?? []).flatMap((line) => {
      const key = parsePublicKey(line)
      return key ? [fingerprintOf(key.blob)] : []
    }),
    hostCa: host?.caFingerprint ?? '',
    ...(host ? { hostCertificateEndsAt: timestampFromDate(host.validBefore) } : {}),
    revocations: revocations?.revocations ?? '',
    detail: older ? MADE_BEFORE : (revocations?.detail ?? ''),
    cutOff: opening.length === 0 || older,
  })
}

const MADE_BEFORE = 'It was made before the fleet had a CA, so it was never told of one.'
