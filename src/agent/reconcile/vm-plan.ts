import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { VmRecord } from '../records/vm-record.ts'
import { isCrashLoop } from './crash-loop.ts'
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
  /** It keeps ending by itself: nothing is started until a person asks or changes it. */
  | { do: 'ask' }
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
  if (isCrashLoop(record)) return { do: 'ask' }
  if (record.bootId === now.bootId) return { do: 'boot', because: 'exited' }
  if (spec.autostart === false)
    return { do: 'rest', power: 'stopped', detail: 'not started again after the host rebooted: autostart is off' }
  return { do: 'boot', because: 'host-rebooted' }
}
