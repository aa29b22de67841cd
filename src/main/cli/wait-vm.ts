import { FAULT_CODES, Fault, type FaultCode } from '../../ipc/faults.ts'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { UNDER_WAY, WAIT_STATES, type WaitState } from '../../ipc/lifecycle.ts'
import type { FleetClient } from '../fleet-client.ts'
import { invalid } from './outcome.ts'
import { watchFleet } from './watch-fleet.ts'

export function waitState(text: string): WaitState {
  const state = WAIT_STATES.find((s) => s === text)
  if (state) return state
  throw invalid('state', text.slice(0, 80), `use ${WAIT_STATES.join(', ')}`)
}

/** The VM a name means: a live one before deleted ones, which are looked at only when `deleted` says so. Undefined = none. */
export function findVm(vms: Iterable<Vm>, ref: string, deleted: boolean): Vm | undefined {
  const named = [...vms].filter((vm) => vm.id === ref || vm.name === ref)
  const lives = named.filter((vm) => vm.id === ref || !vm.deletedAt)
  const live = lives.find((vm) => !vm.unowned) ?? lives[0]
  if (live || !deleted) return live
  if (named.length > 1)
    throw new Fault('vm/ambiguous', 'permanent', { vm: ref, ids: named.map((vm) => vm.id).join(', ') })
  return named[0]
}

/** Waits until `met` says so of the VM; undefined once it does not exist (any more). The signal is the deadline. */
export async function waitForVm(
  fleet: FleetClient,
  ref: string,
  met: (vm: Vm | undefined) => boolean,
  signal: AbortSignal,
  deleted = false,
): Promise<Vm | undefined> {
  let id: string | undefined
  for await (const { vms } of watchFleet(fleet, signal)) {
    const vm = id === undefined ? findVm(vms.values(), ref, deleted) : vms.get(id)
    id ??= vm?.id
    if (met(vm)) return vm
    if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: ref })
  }
  throw signal.reason
}

/** Waits for a lifecycle word; a VM that failed on the way raises its reason. */
export async function waitForState(
  fleet: FleetClient,
  ref: string,
  state: WaitState,
  signal: AbortSignal,
): Promise<Vm | undefined> {
  const deleted = state === 'gone' || state === 'deleting'
  const met = (vm: Vm | undefined) => {
    if (!vm) return state === 'gone'
    if (vm.lifecycle === state && (state === 'deleting' || isSettled(vm))) return true
    if (vm.lifecycle === 'failed' && !deleted) throw failure(vm)
    return false
  }
  return waitForVm(fleet, ref, met, signal, deleted)
}

/** Seen by its host, and not on its way: a stop or start asked for while another is under way is done after it. */
const isSettled = (vm: Vm): boolean =>
  !vm.hostUnknown &&
  vm.power !== undefined &&
  (vm.phase === 'creating' || !Object.values<string>(UNDER_WAY).includes(vm.detail))

/** Why a VM is in trouble, with its host's own sentence as `said`. */
export function failure(vm: Vm): Fault {
  const known = FAULT_CODES.find((code): code is FaultCode => code === vm.reason)
  return new Fault(known ?? 'vm/create-failed', 'permanent', {
    vm: vm.name,
    host: vm.hostName,
    image: vm.imageName,
    said: vm.detail,
  })
}
