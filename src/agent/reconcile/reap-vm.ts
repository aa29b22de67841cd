import { asFault } from '../../ipc/faults.ts'
import type { RunningVm } from '../backends/backend.ts'
import type { VmLayout } from '../records/layout.ts'
import { newRecord, type VmRecord } from '../records/vm-record.ts'
import { bootTime, type Orders, type PassDeps } from './pass-deps.ts'
import { counting, countsFor, elapsedMs, standing } from './quarantine-clock.ts'
import { exists, planVm, type Wanted } from './vm-plan.ts'
import {
  complaintPart,
  goneResult,
  type QuarantinePart,
  quarantineResult,
  rowResult,
  sentence,
  type VmResult,
} from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

/** What tells the time of a host. */
type Timed = Pick<PassDeps, 'processes' | 'clock'>

/** What a report says of a VM in quarantine, before anything is tried with it. */
export function quarantinePart(deps: Timed, { quarantine }: VmRecord, wanted: Wanted): Omit<QuarantinePart, 'spec'> {
  const unowned = wanted.kind === 'absent' && wanted.unowned
  if (wanted.kind !== 'tombstone' || !quarantine) return { destroyAt: undefined, unowned, detail: '' }
  const spent = countsFor(quarantine, wanted.since) ? elapsedMs(quarantine, bootTime(deps)) : 0
  return { destroyAt: deps.clock.now() + Math.max(0, wanted.graceMs - spent), unowned, detail: '' }
}

/** What a record alone says of its VM, before a pass has looked: its power is unknown. */
export function firstResult(deps: Timed, record: VmRecord, wanted: Wanted): VmResult {
  if (record.quarantine) return quarantineResult(record, quarantinePart(deps, record, wanted))
  const unowned = wanted.kind === 'absent' && wanted.unowned
  return rowResult(record, { power: undefined, phase: undefined, unowned, spec: unowned ? record.spec : undefined })
}

/** Stamps first, then stops: the compute is free at once, the disk and the address stay until destroyVm. */
export async function quarantineVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  wanted: Wanted,
  running: RunningVm | undefined,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const marked = inQuarantine(deps, record, wanted)
  if (marked.quarantine !== record.quarantine) await noteClock(deps, record, marked)
  deps.ledger.release(vm.id)
  const part = quarantinePart(deps, marked, wanted)
  if (!running) return quarantineResult(marked, part)
  pass.publish(quarantineResult(marked, { ...part, detail: 'stopping' }))
  return quarantineResult(marked, { ...part, detail: await stopQuietly(deps, vm, marked, pass) })
}

function inQuarantine(deps: PassDeps, record: VmRecord, wanted: Wanted): VmRecord {
  const since = wanted.kind === 'tombstone' ? wanted.since : ''
  const quarantine = counting(record.quarantine, bootTime(deps), since)
  return { ...record, quarantine, stopRequested: true, exit: undefined, admitted: undefined }
}

/** Nobody tombstones it any more, nobody wants it: it stays stopped and its clock stands still. */
export async function holdVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  wanted: Wanted,
  running: RunningVm | undefined,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const quarantine = standing(record.quarantine!, bootTime(deps))
  const held = { ...record, quarantine }
  if (quarantine !== record.quarantine) await noteClock(deps, record, held)
  const detail = running ? await stopQuietly(deps, vm, held, pass) : ''
  return quarantineResult(held, { ...quarantinePart(deps, held, wanted), detail })
}

/** The first stamp must hold before anything is stopped; to write down later ones may wait for a disk with room. */
async function noteClock(deps: PassDeps, before: VmRecord, after: VmRecord): Promise<void> {
  try {
    await deps.records.save(after)
  } catch (error) {
    if (!before.quarantine || before.quarantine.tombstone !== after.quarantine?.tombstone) throw error
    notSaved(deps, deps.layout.vmDir(after.spec.vmId), error)
  }
}

/** There is no record. For a deleted VM that is the proof people wait for: nothing of it may be left then. */
export async function acknowledge(deps: PassDeps, vmId: string, wanted: Wanted, running: boolean): Promise<VmResult> {
  deps.ledger.release(vmId)
  if (wanted.kind !== 'tombstone') return goneResult
  try {
    if (running) await deps.backend.destroy(deps.layout.vmDir(vmId))
    await deps.network.detach(vmId)
    await deps.records.remove(vmId)
    return goneResult
  } catch (error) {
    return notDestroyed(deps, newRecord(wanted.spec), error)
  }
}

/**
 * Ends everything of the VM on this host. Repeated each tick until it holds; only then the record goes. An undelete that
 * comes while the hypervisor is still at it keeps the data.
 */
export async function destroyVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  wanted: Wanted,
  { latest }: Orders,
): Promise<VmResult> {
  const marked = record.quarantine ? record : inQuarantine(deps, record, wanted)
  // A purge is what makes room on a full disk.
  if (marked !== record) await deps.records.save(marked).catch((error) => notSaved(deps, vm, error))
  deps.ledger.release(vm.id)
  const isKept = () => planVm(latest(), { record: marked, running: false, now: bootTime(deps) }).do !== 'destroy'
  const kept = () => quarantineResult(marked, quarantinePart(deps, marked, latest()))
  try {
    if (isKept()) return kept()
    await deps.backend.destroy(vm)
    if (isKept()) return kept()
    await deps.network.detach(vm.id)
    await deps.records.remove(vm.id)
    return goneResult
  } catch (error) {
    return notDestroyed(deps, marked, error)
  }
}

const notSaved = ({ log }: PassDeps, vm: VmLayout, error: unknown): void =>
  log.warn('vm.record-not-saved', { vm: vm.id, error: asFault(error).message })

function notDestroyed(deps: PassDeps, record: VmRecord, error: unknown): VmResult {
  const fault = asFault(error)
  deps.log.warn('vm.destroy-failed', { vm: record.spec.vmId, code: fault.code, error: fault.message })
  const detail = sentence(fault, record.spec.name)
  return quarantineResult(record, { destroyAt: deps.clock.now(), unowned: false, detail })
}

/** A VM no accepted snapshot names is only looked at. */
export async function leaveVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  unowned: boolean,
  running: RunningVm | undefined,
): Promise<VmResult> {
  return rowResult(record, {
    power: running ? 'running' : 'stopped',
    phase: exists(record) ? 'ready' : 'creating',
    detail: running ? '' : record.lastError,
    reason: running ? '' : record.lastReason,
    running,
    ...(running ? complaintPart(deps.backend.complaint(vm), record.spec.name) : {}),
    unowned,
    spec: unowned ? record.spec : undefined,
  })
}

async function stopQuietly(deps: PassDeps, vm: VmLayout, record: VmRecord, pass: Pass<VmResult>): Promise<string> {
  try {
    await deps.backend.shutdown(vm, { graceMs: deps.stopGraceMs, hurry: pass.hurry }, pass.signal)
    return ''
  } catch (error) {
    deps.log.warn('vm.stop-failed', { vm: vm.id, error: asFault(error).message })
    return sentence(asFault(error), record.spec.name)
  }
}
