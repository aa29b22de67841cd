import { FAULT_CODES, Fault, type FaultCode } from '../../ipc/faults.ts'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { UNDER_WAY, WAIT_STATES, type WaitState } from '../../ipc/lifecycle.ts'
import type { FleetClient } from '../fleet-client.ts'
import { HostWord } from './host-word.ts'
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

/** What is waited for: `met` may raise why it will not come. */
export interface Wanted {
  met(vm: Vm | undefined, host: Host | undefined): boolean
  /** Deleted VMs are meant too. */
  deleted?: boolean
}

/**
 * Waits until `met` says so of the VM; undefined once it does not exist (any more). Raises at once why its host cannot
 * be heard. The signal is the deadline.
 */
export async function waitForVm(
  fleet: FleetClient,
  ref: string,
  { met, deleted = false }: Wanted,
  signal: AbortSignal,
  word = new HostWord(false),
): Promise<Vm | undefined> {
  let id: string | undefined
  try {
    for await (const { vms, hosts } of watchFleet(fleet, AbortSignal.any([signal, word.believed.signal]))) {
      const vm = id === undefined ? findVm(vms.values(), ref, deleted) : vms.get(id)
      const host = vm && hosts.get(vm.hostId)
      id ??= vm?.id
      if (met(vm, host)) return vm
      if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: ref })
      const silence = word.silence(host)
      if (silence) throw silence
    }
    throw signal.reason
  } catch (error) {
    throw word.believed.signal.aborted ? word.believed.signal.reason : error
  } finally {
    word.end()
  }
}

/** Waits for a lifecycle word; a VM that failed on the way raises its reason. `asked` = it was asked to change just before. */
export async function waitForState(
  fleet: FleetClient,
  ref: string,
  state: WaitState,
  signal: AbortSignal,
  asked = false,
): Promise<Vm | undefined> {
  const deleted = state === 'gone' || state === 'deleting'
  const word = new HostWord(asked)
  const met = (vm: Vm | undefined, host: Host | undefined) => {
    if (!vm) return state === 'gone'
    const isAnswer = word.isAnswer(host)
    const isFailure = word.isFailure(vm, host, failure)
    if (vm.lifecycle === state && (state === 'deleting' || (isAnswer && isSettled(vm)))) return true
    if (isFailure && !deleted) throw failure(vm)
    return false
  }
  return waitForVm(fleet, ref, { met, deleted }, signal, word)
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
