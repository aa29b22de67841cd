import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { printable } from '../../../ipc/fault-text.ts'
import type { GuestTrust } from '../../../ipc/gen/eitri/agent/v1/trust_pb.js'
import type { GuestTrustSchema, HostCertificateSchema } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { heardOf, inOurTime } from '../clock/clock-view.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { HostLive } from '../sync/registry.ts'
import { parseCertificateLine } from './openssh/certificate.ts'

const WORDS = ['current', 'older', 'unreachable', 'failed']
const SENTENCE_CHARS = 300
/** Lines that were read, for lists that are built again and again. */
const MAX_READ = 20_000
const read = new Map<string, HostCertificateFields | undefined>()

export interface HostCertificateFields {
  /** A 64-bit number. */
  serial: string
  caFingerprint: string
  validBefore: Date
}

/** Of a certificate line; undefined when it is none. */
export function hostCertificateFields(line: string): HostCertificateFields | undefined {
  if (line === '' || read.has(line)) return read.get(line)
  const certificate = parseCertificateLine(line)
  const fields = certificate && {
    serial: String(certificate.serial),
    caFingerprint: fingerprintOf(certificate.caBlob),
    validBefore: new Date(Number(certificate.validBefore) * 1000),
  }
  if (read.size >= MAX_READ) read.clear()
  read.set(line, fields)
  return fields
}

/** The part of a VM's view; empty when it has no certificate. */
export function hostCertificateOf(line: string): { hostCertificate?: MessageInitShape<typeof HostCertificateSchema> } {
  const fields = hostCertificateFields(line)
  return fields ? { hostCertificate: { ...fields, validBefore: timestampFromDate(fields.validBefore) } } : {}
}

/** What a host said of a guest's list of revoked certificates, bounded, its moment by this computer's clock. */
export function guestTrustView(
  told: Pick<GuestTrust, 'revocations' | 'detail' | 'asOf'>,
  live: HostLive,
  monotonicNow: number,
): MessageInitShape<typeof GuestTrustSchema> {
  const heard = heardOf(live, monotonicNow)
  return {
    revocations: WORDS.includes(told.revocations) ? told.revocations : '',
    detail: printable(told.detail).slice(0, SENTENCE_CHARS),
    ...(told.asOf && heard ? { asOf: inOurTime(told.asOf, heard) } : {}),
  }
}
