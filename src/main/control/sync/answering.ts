import { TIMES } from '../../../ipc/units.ts'
import type { HostLive } from './registry.ts'

/** The last report is older than the stale window. Never reported = nothing that could be stale. */
export const isStale = (live: HostLive, monotonicNow: number): boolean =>
  live.reportedMonotonic !== undefined && monotonicNow - live.reportedMonotonic > TIMES.staleMs

/** Attached and reporting: what it said is current. */
export const isAnswering = (live: HostLive, monotonicNow: number): boolean =>
  live.session !== undefined && live.reportedMonotonic !== undefined && !isStale(live, monotonicNow)
