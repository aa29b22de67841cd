import type { HostDraining, HostRow } from '../store/host-row.ts'
import type { VmEdit, VmRow } from '../store/vm-row.ts'
import { planAction } from '../vms/lifecycle-actions.ts'

/** What draining does to the VMs of a host, by name where it is for people. */
export interface DrainPlan {
  draining: HostDraining
  stop: { id: string; edit: VmEdit }[]
  stopping: string[]
  leftRunning: string[]
}

/** Pure: protected VMs run on; those that are off or deleted are nobody's concern. */
export function planDrain(
  vms: readonly VmRow[],
  { drain, stopVms }: { drain: boolean; stopVms: boolean },
  now: Date,
): DrainPlan {
  if (!drain) return { draining: '', stop: [], stopping: [], leftRunning: [] }
  const running = vms.filter((vm) => !vm.deletedAt && vm.powerState === 'running')
  const stopped = running.filter((vm) => stopVms && !vm.protected)
  return {
    draining: stopVms ? 'stop' : 'leave',
    stop: stopped.map((vm) => ({ id: vm.id, edit: planAction(vm, { do: 'stop', force: false }, {}, now) })),
    stopping: namesOf(stopped),
    leftRunning: namesOf(running.filter((vm) => !stopped.includes(vm))),
  }
}

const namesOf = (vms: readonly Pick<VmRow, 'name'>[]): string[] => vms.map((vm) => vm.name).sort()

export interface DrainDeps {
  vms: {
    listByHost(hostId: string): VmRow[]
    edit(id: string, action: string, edit: VmEdit, detail?: Record<string, string>): VmRow
  }
  hostLife: { setDraining(id: string, draining: HostDraining): HostRow }
  transaction<T>(work: () => T): T
  now(): number
}

/** All or nothing: the host takes no more VMs, and what it has is told to stop. Idempotent. */
export function drainHost(
  { vms, hostLife, transaction, now }: DrainDeps,
  host: HostRow,
  wish: { drain: boolean; stopVms: boolean },
): DrainPlan & { host: HostRow } {
  return transaction(() => {
    const plan = planDrain(vms.listByHost(host.id), wish, new Date(now()))
    const row = hostLife.setDraining(host.id, plan.draining)
    for (const { id, edit } of plan.stop) vms.edit(id, 'vm.stop', edit, { why: 'drain' })
    return { ...plan, host: row }
  })
}
