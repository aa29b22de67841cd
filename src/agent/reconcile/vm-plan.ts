import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { VmRecord } from '../records/vm-record.ts'
import { isCrashLoop } from './crash-loop.ts'
import { type BootTime, countsFor, elapsedMs } from './quarantine-clock.ts'

/** What the last accepted snapshot says of one VM. */
export type Wanted =
  | { kind: 'live'; spec: VmSpec }
  /** `since` names this deletion: another one, after the VM was wanted again, has another. */
  | { kind: 'tombstone'; spec: VmSpec; graceMs: number; since: string }
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

/**
 * A VM exists only once a create was whole; a disk alone proves nothing. Either thing that only then is written is
 * proof: what a damaged record lost of it must not cost the disk.
 */
export const exists = (record: VmRecord | undefined): record is VmRecord =>
  record !== undefined && (record.bootId !== '' || record.machine !== '' || record.startedUptimeMs > 0)

/** A newer control plane may ask for more than this agent can do; empty means running. */
export const isKnownPower = (powerState: string): boolean => ['', 'running', 'stopped'].includes(powerState)

/** What to do for one VM now. Pure and total; the same inputs give the same plan. */
export function planVm(wanted: Wanted, { record, running, now }: Observed): VmPlan {
  switch (wanted.kind) {
    case 'live':
      return exists(record) ? planPower(wanted.spec, record, running, now) : { do: 'create' }
    case 'tombstone': {
      if (!record) return { do: 'acknowledge' }
      const { quarantine } = record
      const spent = quarantine && countsFor(quarantine, wanted.since) ? elapsedMs(quarantine, now) : 0
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
  if (!isKnownPower(spec.powerState)) {
    const detail = `this agent does not know the power state ${JSON.stringify(spec.powerState.slice(0, 40))}`
    return { do: 'rest', power: running ? 'running' : 'stopped', detail }
  }
  const restartAsked = spec.restartCount > record.restartCount
  if (running) return restartAsked ? { do: 'restart' } : { do: 'rest', power: 'running', detail: '' }
  if (record.stopRequested || restartAsked) return { do: 'boot', because: 'wanted' }
  if (isCrashLoop(record)) return { do: 'ask' }
  if (record.bootId === now.bootId) return { do: 'boot', because: 'exited' }
  if (spec.autostart === false)
    return { do: 'rest', power: 'stopped', detail: 'not started again after the host rebooted: autostart is off' }
  return { do: 'boot', because: 'host-rebooted' }
}
