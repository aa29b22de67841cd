import { asFault } from '../../ipc/faults.ts'
import type { RunningVm } from '../backends/backend.ts'
import type { VmLayout } from '../records/layout.ts'
import type { VmRecord } from '../records/vm-record.ts'
import { bootTime, type PassDeps } from './pass-deps.ts'
import { counting, elapsedMs, standing } from './quarantine-clock.ts'
import { exists } from './vm-plan.ts'
import { complaintPart, goneResult, quarantineResult, rowResult, sentence, type VmResult } from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

/** Stamps first, then stops: the compute is free at once, the disk and the address stay until destroyVm. */
export async function quarantineVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  graceMs: number,
  running: RunningVm | undefined,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const now = bootTime(deps)
  const quarantine = counting(record.quarantine, now)
  const marked = { ...record, quarantine, stopRequested: true, exit: undefined }
  if (quarantine !== record.quarantine) await deps.records.save(marked)
  deps.ledger.release(vm.id)
  const destroyAt = deps.clock.now() + Math.max(0, graceMs - elapsedMs(quarantine, now))
  const part = { destroyAt, unowned: false, detail: '' }
  if (!running) return quarantineResult(marked, part)
  pass.publish(quarantineResult(marked, { ...part, detail: 'stopping' }))
  return quarantineResult(marked, { ...part, detail: await stopQuietly(deps, vm, marked, pass) })
}

/** Nobody tombstones it any more, nobody wants it: it stays stopped and its clock stands still. */
export async function holdVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  unowned: boolean,
  running: RunningVm | undefined,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const quarantine = standing(record.quarantine!, bootTime(deps))
  const held = { ...record, quarantine }
  if (quarantine !== record.quarantine) await deps.records.save(held)
  const detail = running ? await stopQuietly(deps, vm, held, pass) : ''
  return quarantineResult(held, { destroyAt: undefined, unowned, detail })
}

/** Ends everything of the VM on this host. Repeated each tick until it holds; only then the record goes. */
export async function destroyVm(deps: PassDeps, vm: VmLayout, record: VmRecord): Promise<VmResult> {
  deps.ledger.release(vm.id)
  try {
    await deps.backend.destroy(vm)
    await deps.records.remove(vm.id)
    return goneResult
  } catch (error) {
    const fault = asFault(error)
    deps.log.warn('vm.destroy-failed', { vm: vm.id, code: fault.code, error: fault.message })
    const detail = sentence(fault, record.spec.name)
    return quarantineResult(record, { destroyAt: deps.clock.now(), unowned: false, detail })
  }
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
