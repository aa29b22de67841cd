import { timestampMs } from '@bufbuild/protobuf/wkt'
import { CLOCK_STALE_MS } from '../../../ipc/clock-words.ts'
import { comparisonOf } from '../clock/app-offset.ts'
import type { HostLive } from '../sync/registry.ts'

/**
 * Clock of a guest minus this computer's, ms, as last measured: the guest's against its host and the host's against
 * this computer. A guest nobody measured is taken to have its host's. Undefined = neither is known.
 */
export function guestOffsetMs(live: HostLive, vmId: string, monotonicNow: number): number | undefined {
  const host = comparisonOf(live.clockSamples ?? [])?.offsetMs
  const clock = live.vms?.get(vmId)?.clock
  const { report, reportedMonotonic } = live
  if (clock?.offsetUs === undefined || !clock.measuredAt || !report?.builtAt || reportedMonotonic === undefined)
    return host
  const age = timestampMs(report.builtAt) - timestampMs(clock.measuredAt) + monotonicNow - reportedMonotonic
  return age > CLOCK_STALE_MS ? host : (host ?? 0) + Number(clock.offsetUs) / 1000
}
