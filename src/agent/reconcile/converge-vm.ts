import { isDeepStrictEqual } from 'node:util'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { UNDER_WAY } from '../../ipc/lifecycle.ts'
import type { RunningVm } from '../backends/backend.ts'
import { namedIfFull, VM_FILES_BYTES } from '../os/disk-space.ts'
import type { VmLayout } from '../records/layout.ts'
import { sizeOf, type VmRecord } from '../records/vm-record.ts'
import { isCrashLoop, noteExit, restartDelayMs } from './crash-loop.ts'
import { booted, bootTime, networked, type PassDeps, runningPart, withAddresses } from './pass-deps.ts'
import type { BootTime } from './quarantine-clock.ts'
import { growDisk, keptDisk, needsRestart } from './vm-edits.ts'
import { haveImage, isAwaited, WAITING_FOR_IMAGE } from './vm-image.ts'
import type { VmPlan } from './vm-plan.ts'
import { complaintPart, rowResult, sentence, type VmResult } from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

/** Of a VM that is to start. */
const BEING_COPIED = 'starts once its disk is copied to the VM that is made from it'

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
  const started = await deps.holds.using(vm.id, () => startVm(deps, vm, current, because, pass))
  return started ?? rowResult(current, { power: 'stopped', phase: 'ready', detail: BEING_COPIED })
}

/** With its disk to itself. */
async function startVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  because: Because,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  let current = record
  const { spec } = record
  try {
    requireRoom(deps, spec)
    const stopped = { power: 'stopped', phase: 'ready' } as const
    if (isAwaited(deps, spec)) return rowResult(current, { ...stopped, detail: WAITING_FOR_IMAGE }, spec.imageSha256)
    await haveImage(deps, spec, (detail) => pass.publish(rowResult(current, { ...stopped, detail })), pass.signal)
    if (because !== 'exited') pass.publish(rowResult(current, { ...stopped, detail: UNDER_WAY.booting }))
    const image = await deps.images.bootImage(spec.imageSha256, spec.imageKind, spec.imageFormat)
    // One that cannot grow starts as it is; why is told while it runs.
    current = (await growDisk(deps, vm, current, pass.signal)).record
    const nics = await deps.network.attach(networked(spec), pass.signal)
    const running = await deps.backend.boot({ vm, spec, image, machine: current.machine, nics }, pass.signal)
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
  const stopping = await noteStop(deps, vm, record)
  if ('row' in stopping) return stopping
  try {
    await stop(deps, vm, stopping, force, pass)
    return rowResult(stopping, { power: 'stopped', phase: 'ready' })
  } catch (error) {
    return await failConverge(deps, vm, stopping, error)
  }
}

/** Stop and start in one pass; done once its boot is recorded, so a crash in between repeats it. Refused without room. */
export async function restartVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  try {
    requireRoom(deps, record.spec)
  } catch (error) {
    return await failConverge(deps, vm, record, error)
  }
  const stopping = await noteStop(deps, vm, record)
  if ('row' in stopping) return stopping
  try {
    await stop(deps, vm, stopping, false, pass)
  } catch (error) {
    return await failConverge(deps, vm, stopping, error)
  }
  return await bootVm(deps, vm, stopping, 'wanted', pass)
}

export interface Rest {
  power: 'running' | 'stopped'
  detail: string
  running: RunningVm | undefined
}

/**
 * Nothing to start or to stop: forgets an error that is over and notes what it sees. A VM out of quarantine is admitted
 * again; a disk that is to be larger grows.
 */
export async function restVm(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  { power, detail, running }: Rest,
  signal: AbortSignal,
): Promise<VmResult> {
  let full = ''
  if (!record.admitted) {
    if (power === 'stopped') full = deps.ledger.admit(record.spec)
    else deps.ledger.note(record.spec)
  }
  const rested = atRest(record, power, full === '', bootTime(deps))
  const {
    record: current,
    later,
    fault,
  } = full === ''
    ? await growDisk(deps, vm, rested, signal)
    : { record: rested, later: false, fault: overCapacity(full) }
  if (!isDeepStrictEqual(current, record)) await deps.records.save(current)
  const { name } = current.spec
  const row = { power, phase: 'ready', detail: detail || keptDisk(current) } as const
  if (power === 'stopped')
    return rowResult(current, fault ? { ...row, detail: sentence(fault, name), reason: fault.code } : row)
  const trouble = complaintPart(deps.backend.complaint(vm), name)
  const notGrown = fault ? { detail: sentence(fault, name), reason: fault.code } : {}
  const fields = [...needsRestart(current), ...(later ? ['disk_gb'] : [])]
  return rowResult(current, { ...row, running, needsRestart: fields, ...notGrown, ...trouble })
}

/** A VM that is down although nobody stopped it, and then was to be down, is stopped on purpose from then on. */
function atRest(record: VmRecord, power: 'running' | 'stopped', isAdmitted: boolean, now: BootTime): VmRecord {
  const quiet = { ...record, lastError: '', lastReason: '' }
  if (isAdmitted) quiet.admitted ??= sizeOf(record.spec)
  if (power === 'stopped')
    return { ...quiet, stopRequested: record.stopRequested || record.spec.powerState === 'stopped' }
  // Started in this boot by an agent that died before it could say so.
  const started = record.bootId === now.bootId ? {} : { bootId: now.bootId, startedUptimeMs: now.uptimeMs }
  return { ...quiet, stopRequested: false, exit: undefined, ...started }
}

const overCapacity = (detail: string) => new Fault('vm/over-capacity', 'transient', { detail })

function requireRoom({ ledger }: PassDeps, spec: VmSpec): void {
  const full = ledger.admit(spec)
  if (full !== '') throw overCapacity(full)
}

/** The record with the stop in it, durable; or what to report when it cannot be, and then nothing is stopped. */
async function noteStop(deps: PassDeps, vm: VmLayout, record: VmRecord): Promise<VmRecord | VmResult> {
  try {
    const stopping = { ...record, stopRequested: true, lastError: '', lastReason: '', exit: undefined }
    await deps.records.save(stopping)
    return stopping
  } catch (error) {
    return await failConverge(deps, vm, record, error)
  }
}

async function stop(
  deps: PassDeps,
  vm: VmLayout,
  stopping: VmRecord,
  force: boolean,
  pass: Pass<VmResult>,
): Promise<void> {
  pass.publish(rowResult(stopping, { power: 'running', phase: 'ready', detail: UNDER_WAY.stopping }))
  const graceMs = force ? 0 : deps.stopGraceMs
  await deps.backend.shutdown(vm, { graceMs, hurry: pass.hurry }, pass.signal)
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
  const { reason = '', clean = false } = record.exit ?? {}
  const next = delayMs > 0 ? `next try in ${Math.ceil(delayMs / 1000)} s` : ''
  const detail = [clean ? '' : reason, next].filter(Boolean).join('; ')
  const fault = new Fault(clean ? 'vm/powered-off' : 'vm/exited', 'transient', { detail })
  return rowResult(record, {
    power: 'stopped',
    phase: 'failed',
    detail: sentence(fault, record.spec.name),
    reason: fault.code,
  })
}

/** Existing VMs have no budget: the error is kept and shown, and every tick tries again. Cancelled is no error. */
export async function failConverge(deps: PassDeps, vm: VmLayout, record: VmRecord, error: unknown): Promise<VmResult> {
  const fault = asFault(await namedIfFull(error, deps.layout.stateDir, VM_FILES_BYTES))
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
