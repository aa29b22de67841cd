import { asFault, Fault } from '../../ipc/faults.ts'
import { UNDER_WAY } from '../../ipc/lifecycle.ts'
import type { RunningVm } from '../backends/backend.ts'
import type { VmLayout } from '../records/layout.ts'
import type { VmRecord } from '../records/vm-record.ts'
import { isCrashLoop, noteExit, restartDelayMs } from './crash-loop.ts'
import { booted, bootTime, type PassDeps, runningPart, withAddresses } from './pass-deps.ts'
import type { VmPlan } from './vm-plan.ts'
import { complaintPart, rowResult, sentence, type VmResult } from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

type Because = Extract<VmPlan, { do: 'boot' }>['because']

/** Starts an existing VM. A VM that ended by itself says why first, and waits when it keeps ending. */
export async function bootVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  because: Because,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  let current = record
  if (because === 'exited') {
    const now = bootTime(deps)
    current = await exited(deps, vm, record)
    if (isCrashLoop(current)) return askVm(current)
    const row = exitedRow(current, restartDelayMs(current, now))
    if (restartDelayMs(current, now) > 0) return row
    pass.publish(row)
  }
  const { spec } = current
  try {
    const full = deps.ledger.holds(spec.vmId) ? '' : deps.ledger.admit(spec)
    if (full !== '') throw new Fault('vm/over-capacity', 'transient', { detail: full })
    if (because !== 'exited')
      pass.publish(rowResult(current, { power: 'stopped', phase: 'ready', detail: UNDER_WAY.booting }))
    const image = await deps.images.bootImage(spec.imageSha256, spec.imageKind)
    const running = await deps.backend.boot({ vm, spec, image, machine: current.machine }, pass.signal)
    current = await withAddresses(deps, vm, booted(current, running.machine, bootTime(deps)))
    await deps.records.save(current)
    return rowResult(current, { power: 'running', phase: 'ready', running: runningPart(running) })
  } catch (error) {
    return await failConverge(deps, vm, current, error)
  }
}

/** Stops a running VM. The wish is durable first: else a crash meanwhile would make the VM look lost. */
export async function stopVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  force: boolean,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  try {
    const stopped = await stop(deps, vm, record, force, pass)
    return rowResult(stopped, { power: 'stopped', phase: 'ready' })
  } catch (error) {
    return await failConverge(deps, vm, record, error)
  }
}

/** Stop and start in one pass; done once its boot is recorded, so a crash in between repeats it. */
export async function restartVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  try {
    const stopped = await stop(deps, vm, record, false, pass)
    return await bootVm(deps, vm, stopped, 'wanted', pass)
  } catch (error) {
    return await failConverge(deps, vm, record, error)
  }
}

/** Nothing to do: forgets an error that is over. */
export async function restVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  power: 'running' | 'stopped',
  detail: string,
  running: RunningVm | undefined,
): Promise<VmResult> {
  const isStale =
    record.lastError !== '' || (power === 'running' && (record.stopRequested || record.exit !== undefined))
  let current = record
  if (isStale) {
    const stopRequested = power === 'running' ? false : record.stopRequested
    const exit = power === 'running' ? undefined : record.exit
    current = { ...record, lastError: '', lastReason: '', stopRequested, exit }
    await deps.records.save(current)
  }
  const trouble = power === 'running' ? complaintPart(deps.backend.complaint(vm), record.spec.name) : {}
  return rowResult(current, { power, phase: 'ready', detail, running, ...trouble })
}

async function stop(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  force: boolean,
  pass: Pass<VmResult>,
): Promise<VmRecord> {
  const stopping = { ...record, stopRequested: true, lastError: '', lastReason: '', exit: undefined }
  await deps.records.save(stopping)
  pass.publish(rowResult(stopping, { power: 'running', phase: 'ready', detail: UNDER_WAY.stopping }))
  const graceMs = force ? 0 : deps.stopGraceMs
  await deps.backend.shutdown(vm, { graceMs, hurry: pass.hurry }, pass.signal)
  return stopping
}

async function exited(deps: PassDeps, vm: VmLayout, record: VmRecord): Promise<VmRecord> {
  if (record.exit) return record
  const reason = await deps.backend.failureReason(vm)
  const clean = deps.backend.endedCleanly?.(vm) ?? false
  const noted = noteExit(record, { reason, clean }, bootTime(deps))
  deps.log.warn('vm.exited', { vm: vm.id, clean, crashes: noted.crashes, reason })
  await deps.records.save(noted)
  return noted
}

/** It kept ending by itself: a person decides. */
export function askVm(record: VmRecord): VmResult {
  const fault = new Fault('vm/crash-loop', 'permanent', {
    times: String(record.crashes),
    detail: record.exit?.reason ?? '',
  })
  return rowResult(record, {
    power: 'stopped',
    phase: 'failed',
    detail: sentence(fault, record.spec.name),
    reason: fault.code,
  })
}

function exitedRow(record: VmRecord, delayMs: number): VmResult {
  const reason = record.exit?.reason ?? ''
  const next = delayMs > 0 ? `next try in ${Math.ceil(delayMs / 1000)} s` : ''
  const fault = new Fault('vm/exited', 'transient', { detail: [reason, next].filter(Boolean).join('; ') })
  return rowResult(record, {
    power: 'stopped',
    phase: 'failed',
    detail: sentence(fault, record.spec.name),
    reason: fault.code,
  })
}

/** Existing VMs have no budget: the error is kept and shown, and every tick tries again. Cancelled is no error. */
export async function failConverge(deps: PassDeps, vm: VmLayout, record: VmRecord, error: unknown): Promise<VmResult> {
  const fault = asFault(error)
  const running = await deps.backend.running(vm).catch(() => undefined)
  const power = running ? 'running' : 'stopped'
  if (fault.disposition === 'cancelled') return rowResult(record, { power, phase: 'ready', running })
  // Only a hypervisor that was started has said something of this failure.
  const printed = !running && fault.code === 'vm/start-failed'
  const reason = printed ? await deps.backend.failureReason(vm).catch(() => '') : ''
  const said = sentence(fault, record.spec.name)
  const lastError = reason === '' || said.includes(reason) ? said : `${said} ${reason}`
  deps.log.warn('vm.converge-failed', { vm: vm.id, code: fault.code, error: fault.message })
  const failed = { ...record, lastError, lastReason: fault.code }
  await deps.records.save(failed).catch((e) => deps.log.error('vm.record-not-saved', { vm: vm.id, error: String(e) }))
  return rowResult(failed, { power, phase: 'failed', detail: lastError, reason: fault.code, running })
}
