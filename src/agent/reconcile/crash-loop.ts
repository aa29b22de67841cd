import type { VmRecord } from '../records/vm-record.ts'
import type { BootTime } from './quarantine-clock.ts'

/** A VM that ran this long before it ended is not in a crash loop. */
const STABLE_MS = 60_000
/** Crashes in a row, each within STABLE_MS of a start, after which a person decides. */
const CRASH_LIMIT = 3
const FIRST_BACKOFF_MS = 5_000
const BACKOFF_CAP_MS = 300_000

/** How a VM ended with no stop asked. */
export interface Exit {
  reason: string
  /** The guest powered itself off: it is started again ever more rarely, but never counts as a crash. */
  clean: boolean
}

/** The record after a VM was found ended with no stop asked; the same object when that end is noted already. */
export function noteExit(record: VmRecord, { reason, clean }: Exit, now: BootTime): VmRecord {
  if (record.exit) return record
  const stable = now.uptimeMs - record.startedUptimeMs >= STABLE_MS
  const quickEnds = stable ? 0 : record.quickEnds + 1
  const crashes = stable || clean ? 0 : record.crashes + 1
  return { ...record, quickEnds, crashes, exit: { uptimeMs: now.uptimeMs, reason, clean } }
}

/** Nothing starts it again but a person. */
export const isCrashLoop = (record: VmRecord): boolean => record.exit !== undefined && record.crashes >= CRASH_LIMIT

/** How long to wait before a VM that ended by itself is started again: at once the first time, then ever longer. */
export function restartDelayMs(record: VmRecord, now: BootTime): number {
  if (!record.exit || record.quickEnds <= 1) return 0
  const backoff = Math.min(BACKOFF_CAP_MS, FIRST_BACKOFF_MS * 2 ** Math.min(record.quickEnds - 2, 10))
  return Math.max(0, record.exit.uptimeMs + backoff - now.uptimeMs)
}

/** The record once a person asked for a start or changed the VM: what it did before no longer counts. */
export const forgiven = (record: VmRecord): VmRecord =>
  record.exit || record.crashes > 0 || record.quickEnds > 0
    ? { ...record, crashes: 0, quickEnds: 0, exit: undefined, stopRequested: record.stopRequested || !!record.exit }
    : record
