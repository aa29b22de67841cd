import { Fault } from '../../../ipc/faults.ts'
import type { VmEdit, VmRow } from '../store/vm-row.ts'

export type VmAction =
  | { do: 'start' }
  | { do: 'stop'; force: boolean }
  | { do: 'restart' }
  /** For this long it can be brought back, seconds. */
  | { do: 'delete'; graceS: number }
  | { do: 'undelete'; newName: string }
  | { do: 'purge' }

/** What the host last said of the VM; absent = unknown. */
export interface SeenVm {
  power?: string | undefined
  phase?: string | undefined
  /** When the host destroys a quarantined VM. */
  destroyAt?: Date | undefined
  destroyed?: boolean
}

/** The desired-state edit an action is. Raises vm/deleted, vm/not-deleted and vm/not-found (past bringing back). */
export function planAction(vm: VmRow, action: VmAction, seen: SeenVm, now: Date): VmEdit {
  const name = { vm: vm.name }
  const quarantined = action.do === 'undelete' || action.do === 'purge'
  if (!quarantined && vm.deletedAt) throw new Fault('vm/deleted', 'permanent', name)
  if (quarantined && !vm.deletedAt) throw new Fault('vm/not-deleted', 'permanent', name)
  switch (action.do) {
    case 'start':
      return { powerState: 'running', forceStop: false, ...(isDown(vm, seen) ? oneMoreStart(vm) : {}) }
    case 'stop':
      return { powerState: 'stopped', forceStop: action.force }
    case 'restart':
      return { powerState: 'running', forceStop: false, ...(vm.powerState === 'running' ? oneMoreStart(vm) : {}) }
    case 'delete':
      return { deletedAt: now, graceS: action.graceS }
    case 'undelete':
      if (isBeyondUndelete(vm, seen, now)) throw new Fault('vm/not-found', 'permanent', name)
      return { deletedAt: null, graceS: null, ...(action.newName === '' ? {} : { name: action.newName }) }
    case 'purge':
      return { graceS: 0 }
  }
}

/** Purged, or its grace ended: the host has destroyed it or may be doing so. */
export function isBeyondUndelete(vm: VmRow, seen: SeenVm, now: Date): boolean {
  if (!vm.deletedAt) return false
  if (vm.graceS === 0 || seen.destroyed) return true
  const ends = seen.destroyAt ?? new Date(vm.deletedAt.getTime() + (vm.graceS ?? 0) * 1000)
  return now >= ends
}

/** Desired running already but seen down: a start must change something, or the host would keep its verdict. */
const isDown = (vm: VmRow, seen: SeenVm): boolean =>
  vm.powerState === 'running' && (seen.phase === 'failed' || seen.power === 'stopped')

const oneMoreStart = (vm: VmRow): VmEdit => ({ restartCount: vm.restartCount + 1 })
