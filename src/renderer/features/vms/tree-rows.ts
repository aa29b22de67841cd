import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'

/** A line of the tree: a host with the VMs that are shown, or one of them. */
export type TreeRow =
  | { id: string; name: string; host: Host; vms: readonly Vm[] }
  | { id: string; name: string; vm: Vm }

/** Hosts and the VMs under them. While something is filtered, hosts that have none of it are left out. */
export function treeRows(hosts: readonly Host[], vms: readonly Vm[], isFiltered: boolean): TreeRow[] {
  const byHost = new Map<string, Vm[]>()
  for (const vm of vms) {
    const own = byHost.get(vm.hostId)
    if (own) own.push(vm)
    else byHost.set(vm.hostId, [vm])
  }
  const shown = hosts.filter(({ id }) => !isFiltered || byHost.has(id))
  return [
    ...shown.map((host) => ({ id: host.id, name: host.name, host, vms: byHost.get(host.id) ?? [] })),
    ...vms.map((vm) => ({ id: vm.id, name: vm.name, vm })),
  ]
}

/** `14 VMs · 9 running · 1 unknown`: what is certain and what is not, never one for the other. */
export function hostCounts(vms: readonly Vm[]): string {
  const alive = vms.filter(({ deletedAt }) => deletedAt === undefined)
  const unknown = alive.filter((vm) => vm.hostUnknown || vm.power === undefined).length
  const running = alive.filter((vm) => !vm.hostUnknown && vm.power === 'running').length
  const held = vms.length - alive.length
  const parts = [
    alive.length === 0 ? 'no VMs' : plural(alive.length, 'VM'),
    running > 0 && `${running} running`,
    unknown > 0 && `${unknown} unknown`,
    held > 0 && `${held} in quarantine`,
  ]
  return parts.filter(Boolean).join(' · ')
}
