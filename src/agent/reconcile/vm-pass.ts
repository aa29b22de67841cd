import { equals } from '@bufbuild/protobuf'
import { asFault, assertNever } from '../../ipc/faults.ts'
import { type VmSpec, VmSpecSchema } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { newRecord, type VmRecord } from '../records/vm-record.ts'
import { askVm, bootVm, restartVm, restVm, stopVm } from './converge-vm.ts'
import { forgiven } from './crash-loop.ts'
import { createVm } from './create-vm.ts'
import { bootTime, type Orders, type PassDeps, withAddresses } from './pass-deps.ts'
import { acknowledge, destroyVm, holdVm, leaveVm, quarantinePart, quarantineVm } from './reap-vm.ts'
import { exists, planVm, type Wanted } from './vm-plan.ts'
import { quarantineResult, rowResult, sentence, type VmResult } from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

export interface Assignment {
  vmId: string
  wanted: Wanted
}

/** A tombstone makes work towards a live VM pointless. */
export const supersedes = (newer: Assignment, current: Assignment): boolean =>
  newer.wanted.kind === 'tombstone' && current.wanted.kind === 'live'

/** Stop by force, and purge now, do not wait for the guest. */
export function hurries({ wanted }: Assignment): boolean {
  if (wanted.kind === 'tombstone') return wanted.graceMs === 0
  return wanted.kind === 'live' && wanted.spec.powerState === 'stopped' && wanted.spec.forceStop
}

/** Observe, plan, act for one VM. */
export async function runVmPass(
  deps: PassDeps,
  { vmId, wanted }: Assignment,
  pass: Pass<VmResult>,
  orders: Orders,
): Promise<VmResult | undefined> {
  const read = await deps.records.read(vmId)
  if (read.kind === 'unreadable') {
    orders.unreadable(read)
    return undefined
  }
  const found = read.kind === 'record' ? read.record : undefined
  try {
    return await actOn(deps, { vmId, wanted }, found, pass, orders)
  } catch (error) {
    // Only what no step owns ends here, such as a record that cannot be saved: told, and tried again next tick.
    const spec = wanted.kind === 'absent' ? found?.spec : wanted.spec
    if (!spec) throw error
    const fault = asFault(error)
    deps.log.error('vm.pass-failed', { vm: vmId, code: fault.code, error: fault.message })
    const detail = sentence(fault, spec.name)
    if (found?.quarantine) return quarantineResult(found, { ...quarantinePart(deps, found, wanted), detail })
    return rowResult(found ?? newRecord(spec), { power: undefined, phase: undefined, detail, reason: fault.code })
  }
}

async function actOn(
  deps: PassDeps,
  { vmId, wanted }: Assignment,
  found: VmRecord | undefined,
  pass: Pass<VmResult>,
  orders: Orders,
): Promise<VmResult> {
  const vm = deps.layout.vmDir(vmId)
  // Not counted yet when its record could not be read as the agent started.
  if (found?.admitted && !deps.ledger.held(vmId)) deps.ledger.note({ vmId, ...found.admitted })
  // Without a record too: its directory may have been removed under a guest that runs on.
  const running = found || wanted.kind !== 'absent' ? await deps.backend.running(vm) : undefined
  const record = wanted.kind === 'live' ? await claim(deps, found, wanted.spec, running !== undefined) : found
  const plan = planVm(wanted, { record, running: running !== undefined, now: bootTime(deps) })
  if (!record || plan.do === 'acknowledge') return await acknowledge(deps, vmId, wanted, running !== undefined)
  switch (plan.do) {
    case 'create':
      return await createVm(deps, record, running !== undefined, pass)
    case 'boot': {
      const waits = plan.because === 'host-rebooted' ? deps.awaitsTurn(record.spec) : undefined
      if (!waits) return await bootVm(deps, vm, record, plan.because, pass)
      const rest = { power: 'stopped', detail: waits.detail, running } as const
      return { ...(await restVm(deps, vm, record, rest, pass.signal)), waitsForTurn: waits }
    }
    case 'restart':
      return await restartVm(deps, vm, record, pass)
    case 'ask':
      return askVm(record)
    case 'stop':
      return await stopVm(deps, vm, record, plan.force, pass)
    case 'rest':
      return await restVm(deps, vm, record, { ...plan, running }, pass.signal)
    case 'quarantine':
      return await quarantineVm(deps, vm, record, wanted, running, pass)
    case 'destroy':
      return await destroyVm(deps, vm, record, wanted, orders)
    case 'hold':
      return await holdVm(deps, vm, record, wanted, running, pass)
    case 'leave':
      return await leaveVm(deps, vm, record, isUnowned(wanted), running)
    default:
      return assertNever(plan)
  }
}

const isUnowned = (wanted: Wanted): boolean => wanted.kind === 'absent' && wanted.unowned

/**
 * The record of a wanted VM: it holds the newest spec and is in no quarantine. A changed spec grants a fresh budget; a
 * VM out of quarantine was stopped on purpose, so it starts again without counting as lost.
 */
async function claim(deps: PassDeps, found: VmRecord | undefined, spec: VmSpec, running: boolean): Promise<VmRecord> {
  let record = found ?? newRecord(spec)
  if (!equals(VmSpecSchema, record.spec, spec))
    record = { ...forgiven(record), spec, createAttempts: 0, lastError: '', lastReason: '' }
  if (record.quarantine) record = { ...forgiven(record), quarantine: undefined, stopRequested: true }
  if (running && exists(record)) record = await withAddresses(deps, deps.layout.vmDir(spec.vmId), record)
  if (found && record !== found) await deps.records.save(record)
  return record
}
