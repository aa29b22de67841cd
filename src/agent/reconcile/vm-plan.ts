import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { VmRecord } from '../records/vm-record.ts'
import { type BootTime, elapsedMs } from './quarantine-clock.ts'

/** What the last accepted snapshot says of one VM. */
export type Wanted =
  | { kind: 'live'; spec: VmSpec }
  | { kind: 'tombstone'; spec: VmSpec; graceMs: number }
  /** `unowned` is false while no snapshot was accepted at all: then nothing can be said. */
  | { kind: 'absent'; unowned: boolean }

export interface Observed {
  record: VmRecord | undefined
  running: boolean
  now: BootTime
}

export type VmPlan =
  /** No record and none wanted: the destroyed-ack. */
  | { do: 'acknowledge' }
  | { do: 'create' }
  | { do: 'boot'; because: 'wanted' | 'exited' | 'host-rebooted' }
  | { do: 'restart' }
  | { do: 'stop'; force: boolean }
  | { do: 'rest'; power: 'running' | 'stopped'; detail: string }
  | { do: 'quarantine' }
  | { do: 'destroy' }
  /** Quarantined but no longer tombstoned by anybody: stopped, its clock stands still. */
  | { do: 'hold' }
  /** Nobody claims it: observed, never touched. */
  | { do: 'leave' }

/** A VM exists only once a create was whole; a disk alone proves nothing. */
export const exists = (record: VmRecord | undefined): record is VmRecord => record !== undefined && record.bootId !== ''

/** What to do for one VM now. Pure and total; the same inputs give the same plan. */
export function planVm(wanted: Wanted, { record, running, now }: Observed): VmPlan {
  switch (wanted.kind) {
    case 'live':
      return exists(record) ? planPower(wanted.spec, record, running, now) : { do: 'create' }
    case 'tombstone': {
      if (!record) return { do: 'acknowledge' }
      const spent = record.quarantine ? elapsedMs(record.quarantine, now) : 0
      return { do: spent >= wanted.graceMs ? 'destroy' : 'quarantine' }
    }
    case 'absent':
      if (!record) return { do: 'acknowledge' }
      return { do: record.quarantine ? 'hold' : 'leave' }
  }
}

function planPower(spec: VmSpec, record: VmRecord, running: boolean, now: BootTime): VmPlan {
  if (spec.powerState === 'stopped')
    return running ? { do: 'stop', force: spec.forceStop } : { do: 'rest', power: 'stopped', detail: '' }
  const restartAsked = spec.restartCount > record.restartCount
  if (running) return restartAsked ? { do: 'restart' } : { do: 'rest', power: 'running', detail: '' }
  if (record.stopRequested || restartAsked) return { do: 'boot', because: 'wanted' }
  if (record.bootId === now.bootId) return { do: 'boot', because: 'exited' }
  if (spec.autostart === false)
    return { do: 'rest', power: 'stopped', detail: 'not started again after the host rebooted: autostart is off' }
  return { do: 'boot', because: 'host-rebooted' }
}

/** A VM that ran this long before it ended is not in a crash loop. */
const STABLE_MS = 60_000
const FIRST_BACKOFF_MS = 5_000
const BACKOFF_CAP_MS = 300_000

/** The record after a VM was found ended with no stop asked; the same object when that end is noted already. */
export function noteExit(record: VmRecord, reason: string, now: BootTime): VmRecord {
  if (record.exit) return record
  const stable = now.uptimeMs - record.startedUptimeMs >= STABLE_MS
  return { ...record, crashes: stable ? 1 : record.crashes + 1, exit: { uptimeMs: now.uptimeMs, reason } }
}

/** How long to wait before a VM that ended by itself is started again: at once the first time, then ever longer. */
export function restartDelayMs(record: VmRecord, now: BootTime): number {
  if (!record.exit || record.crashes <= 1) return 0
  const backoff = Math.min(BACKOFF_CAP_MS, FIRST_BACKOFF_MS * 2 ** Math.min(record.crashes - 2, 10))
  return Math.max(0, record.exit.uptimeMs + backoff - now.uptimeMs)
}
