import type { Quarantine } from '../records/vm-record.ts'

/** The host's own sense of time: uptime in ms within one boot. */
export interface BootTime {
  bootId: string
  uptimeMs: number
}

/** Counted time is written down at least this often, so that a host reboot loses no more of it. */
const FOLD_MS = 5 * 60_000

/** Counted so far, ms; time of an earlier boot that was never written down is lost, never invented. */
export function elapsedMs(q: Quarantine, now: BootTime): number {
  const counting = q.sinceUptimeMs !== undefined && q.bootId === now.bootId
  return q.elapsedMs + (counting ? Math.max(0, now.uptimeMs - q.sinceUptimeMs!) : 0)
}

/**
 * Starts the clock for a deletion, or lets the one that stands for it go on. The same object when nothing needs writing
 * down.
 */
export function counting(q: Quarantine | undefined, now: BootTime, tombstone = ''): Quarantine {
  const known = q && countsFor(q, tombstone) ? q : undefined
  const fresh =
    known?.sinceUptimeMs !== undefined &&
    known.bootId === now.bootId &&
    now.uptimeMs - known.sinceUptimeMs < FOLD_MS &&
    known.tombstone === tombstone
  if (known && fresh) return known
  const spent = known ? elapsedMs(known, now) : 0
  return { elapsedMs: spent, sinceUptimeMs: now.uptimeMs, bootId: now.bootId, tombstone }
}

/** False when the VM was wanted again since: then this deletion has a clock of its own. */
export const countsFor = (q: Quarantine, tombstone: string): boolean =>
  q.tombstone === tombstone || q.tombstone === '' || tombstone === ''

/** Stops the clock, keeping what was counted. The same object when it stands already. */
export function standing(q: Quarantine, now: BootTime): Quarantine {
  return q.sinceUptimeMs === undefined
    ? q
    : { ...q, elapsedMs: elapsedMs(q, now), sinceUptimeMs: undefined, bootId: now.bootId }
}
