import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'

/** Pure: why this host is not listened to now; undefined = it is in good standing. */
export function judgeCredential(
  { name: host, credential, credentialEndsAt }: Pick<HostRow, 'name' | 'credential' | 'credentialEndsAt'>,
  now: number,
): Fault | undefined {
  if (credential === 'revoked') return new Fault('host/revoked', 'permanent', { host })
  if (credential !== 'key' || !credentialEndsAt || credentialEndsAt.getTime() > now) return undefined
  return new Fault('host/credential-ended', 'permanent', { host, at: credentialEndsAt.toISOString() })
}
