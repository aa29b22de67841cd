import { FAULT_CODES, type FaultCode } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { UNDER_WAY } from '../../../ipc/lifecycle.ts'
import type { VmWatch } from '../store/task-row.ts'
import type { VmAct } from './task-context.ts'

/** What is known of a VM and its host when an act on it is judged. */
export interface ActWorld {
  /** As clients see it; undefined = it has no row any more. */
  vm: Vm | undefined
  /** Its agent, in this process, said that it was told of the act. */
  told: boolean
  /** Ms since it was told. */
  toldForMs: number
}

export type ActVerdict =
  | { at: number; detail: string; doneBytes: number; totalBytes: number | null }
  | { end: 'done' }
  /** The VM is gone, so that nothing of it can be seen any more. */
  | { end: 'gone' }
  | { end: 'failed'; at: number; detail: string; code: FaultCode }

/** What was wrong before the act may be said for a moment after its host was told. */
export const OLD_TROUBLE_MS = 20_000

const MAKE = ['Make the VM', 'Start it']
const STEPS: Readonly<Record<VmAct, readonly string[]>> = {
  create: MAKE,
  clone: MAKE,
  start: ['Start it'],
  stop: ['Stop it'],
  restart: ['Restart it'],
  update: ['Apply the change'],
  delete: ['Stop it and keep it in quarantine'],
  undelete: ['Take it out of quarantine'],
  purge: ['Destroy it'],
}

/** Every act is first told to its host. */
export const actSteps = (act: VmAct, host: string): string[] => [`Tell ${host}`, ...STEPS[act]]

/** Which acts end the watch of this one: its outcome cannot be told from theirs any more. */
export function isSupersededBy(act: VmAct, next: VmAct): boolean {
  if (next === 'delete' || next === 'purge') return true
  if (next === 'undelete') return act === 'delete'
  return laneOf(act) === laneOf(next)
}

const laneOf = (act: VmAct): string =>
  act === 'start' || act === 'stop' || act === 'restart' ? 'power' : act === 'clone' ? 'create' : act

/** What was wrong with a VM, to be compared; empty = nothing. */
export const troubleOf = ({ phase, reason, detail }: Pick<Vm, 'phase' | 'reason' | 'detail'>): string =>
  phase === 'failed' ? `${reason}|${detail}` : ''

/** How far an act is, from what its host reports alone: nothing is done because time passed. */
export function judgeAct({ act, before }: Pick<VmWatch, 'act' | 'before'>, world: ActWorld): ActVerdict {
  const { vm, told } = world
  if (!vm) return { end: act === 'purge' || act === 'delete' ? 'done' : 'gone' }
  if (!told) return going(0, vm.hostUnknown ? `waits for ${vm.hostName}` : '')
  if (isDone(act, vm, before)) return { end: 'done' }
  const at = act === 'create' || act === 'clone' ? (vm.phase === 'ready' ? 2 : 1) : 1
  const trouble = troubleOf(vm)
  const isNew = trouble !== before.trouble || world.toldForMs > OLD_TROUBLE_MS
  if (trouble !== '' && isNew && FAILS.has(act))
    return {
      end: 'failed',
      at,
      detail: vm.detail,
      code: FAULT_CODES.find((code) => code === vm.reason) ?? 'vm/start-failed',
    }
  return vm.hostUnknown ? going(at, `waits for ${vm.hostName}`) : going(at, vm.detail, vm.progress)
}

/** The others go on whatever is wrong with the guest. */
const FAILS: ReadonlySet<VmAct> = new Set(['create', 'clone', 'start', 'restart', 'update'])

function isDone(act: VmAct, vm: Vm, before: VmWatch['before']): boolean {
  const runs = vm.phase === 'ready' && vm.power === 'running'
  switch (act) {
    case 'create':
    case 'clone':
      return vm.phase === 'ready' && (vm.desiredPower === 'stopped' || runs)
    case 'start':
      return runs
    case 'restart':
      return runs && startedAt(vm) !== '' && startedAt(vm) !== before.startedAt
    case 'stop':
      return vm.power === 'stopped'
    case 'update':
      return vm.phase === 'ready'
    case 'delete':
      return vm.quarantineEndsAt !== undefined
    case 'undelete':
      return vm.deletedAt === undefined && vm.phase !== undefined && vm.detail !== UNDER_WAY.returning
    case 'purge':
      return false
  }
}

/** When it last started, to be compared; empty = unknown, or it does not run. */
export const startedAt = (vm: Vm): string => (vm.startedAt ? `${vm.startedAt.seconds}.${vm.startedAt.nanos}` : '')

function going(at: number, detail: string, progress?: Vm['progress']): ActVerdict {
  const total = progress?.totalBytes
  return {
    at,
    detail,
    doneBytes: Number(progress?.doneBytes ?? 0n),
    totalBytes: total === undefined ? null : Number(total),
  }
}
