import { asFault } from '../../../ipc/faults.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { HostRow } from '../store/host-row.ts'
import type { Stores } from '../store/stores.ts'
import { readKrl } from '../trust/openssh/krl.ts'

/**
 * Certificates that a host was told are revoked are revoked here too: else the next thing it is told would let them in
 * again. Why they cannot be taken over; '' = they are.
 */
export function putRevocations({ certificates }: Stores, { name, tenant }: HostRow, krl: Uint8Array): string {
  if (krl.length === 0) return ''
  const read = readKrl(krl)
  if (!read) return `${name} holds a list of revoked certificates that cannot be read`
  try {
    for (const { caBlob, serials } of read.revoked)
      for (const serial of serials)
        certificates.revoke({
          tenant,
          serial: String(serial),
          caFingerprint: caBlob ? fingerprintOf(caBlob) : '',
          reason: 'told to a host before the store was made anew',
          validBefore: null,
        })
    return ''
  } catch (error) {
    return `${name} holds revocations that cannot be taken over (${asFault(error).message})`
  }
}
