import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { UpgradeOutcome as SaidOutcome } from '../../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { HostLive } from '../sync/registry.ts'

/** What of an upgrade is known here alone. */
export interface ShownUpgrade {
  /** Version this app would put there; '' = none. */
  upgradeAvailable: string
  pendingUpgrade: { version: string; ageS: number } | undefined
}

const DETAIL_CHARS = 500

/** The part of a host's view that is about its life in the fleet. Pure. */
export function hostLifeView(row: HostRow, { report }: HostLive, { upgradeAvailable, pendingUpgrade }: ShownUpgrade) {
  const { labels, draining, credential, credentialEndsAt, tenant } = row
  return {
    labels,
    draining,
    credential,
    ...(credential === 'key' && credentialEndsAt ? { credentialEndsAt: timestampFromDate(credentialEndsAt) } : {}),
    ...(pendingUpgrade
      ? { pendingUpgrade: { version: pendingUpgrade.version, ageS: BigInt(pendingUpgrade.ageS) } }
      : {}),
    ...(report?.upgrade ? { upgradeOutcome: outcomeOf(report.upgrade) } : {}),
    upgradeAvailable,
    tenant,
  }
}

/** Two versions that are not the same are named where a person looks, with the way out. */
export function skewNotice({ name, agentVersion }: HostRow, { hello }: HostLive, available: string): string[] {
  const has = hello?.agentVersion || agentVersion
  if (available === '' || available === has) return []
  return [`Its agent is ${has}, this app brings ${available}: "eitri host upgrade ${name}" puts that there.`]
}

const outcomeOf = ({ version, state, detail, at }: SaidOutcome) => ({
  version: version.slice(0, 64),
  state,
  detail: detail.slice(0, DETAIL_CHARS),
  ...(at ? { at } : {}),
})
