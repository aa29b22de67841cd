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

/** Starts the clock, or lets a standing one go on. The same object when nothing needs writing down. */
export function counting(q: Quarantine | undefined, now: BootTime): Quarantine {
  const fresh = q?.sinceUptimeMs !== undefined && q.bootId === now.bootId && now.uptimeMs - q.sinceUptimeMs < FOLD_MS
  if (q && fresh) return q
  return { elapsedMs: q ? elapsedMs(q, now) : 0, sinceUptimeMs: now.uptimeMs, bootId: now.bootId }
}

/** Stops the clock, keeping what was counted. The same object when it stands already. */
export function standing(q: Quarantine, now: BootTime): Quarantine {
  return q.sinceUptimeMs === undefined
    ? q
    : { elapsedMs: elapsedMs(q, now), sinceUptimeMs: undefined, bootId: now.bootId }
}
