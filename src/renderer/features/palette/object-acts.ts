import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { go, type Route } from '../../routes.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { setScope } from '../../state/scope.ts'
import { openShell } from '../consoles/open.ts'
import { reconnectHost, undrainHost } from '../hosts/actions.ts'
import type { useHostSheets } from '../hosts/host-sheets.tsx'
import { offeredKey, ownerOf } from '../hosts/view-model.ts'
import { openPublish } from '../ports/port-sheets.tsx'
import { restartVm, startVm, stopVm } from '../vms/actions.ts'
import { vmActions } from '../vms/view-model.ts'
import type { useVmSheets } from '../vms/vm-sheets.tsx'
import { type Act, act, keysOf } from './palette-act.ts'

/** The sheets that stand before what destroys or asks more. */
export interface Sheets {
  vm: ReturnType<typeof useVmSheets>
  host: ReturnType<typeof useHostSheets>
}

/** What can be done with the VM or host this page shows. */
export function actsHere(route: Route, fleet: FleetSnapshot, sheets: Sheets): Act[] {
  if (route.page === 'vm') {
    const vm = fleet.vms.get(route.id)
    return vm ? vmActs(vm, sheets.vm) : []
  }
  const host = route.page === 'host' ? fleet.hosts.get(route.id) : undefined
  return host ? hostActs(host, sheets.host) : []
}

const those = (acts: (Act | false)[]): Act[] => acts.filter((a) => a !== false)

function vmActs(vm: Vm, sheets: Sheets['vm']): Act[] {
  const can = vmActions(vm)
  const on = { hint: vm.hostName }
  const { id, name } = vm
  return those([
    can.console &&
      act(`Console of ${name}`, () => go({ page: 'vm', id, tab: 'console' }), { ...on, ...keysOf('console') }),
    can.console && act(`Shell in ${name} over SSH`, () => openShell({ kind: 'vm', id }), on),
    can.start && act(`Start ${name}`, () => void startVm(vm), on),
    can.stop && act(`Stop ${name}`, () => void stopVm(vm), on),
    can.restart && act(`Restart ${name}`, () => void restartVm(vm), on),
    can.forceStop && act(`Stop ${name} by force…`, () => sheets.forceStop(vm), on),
    can.edit && act(`Edit ${name}…`, () => sheets.edit(vm), { ...on, ...keysOf('edit') }),
    can.edit && act(`Clone ${name}…`, () => sheets.clone(vm), on),
    can.publish && act(`Publish a port of ${name}…`, () => openPublish(vm), { ...on, ...keysOf('publish') }),
    can.undelete && act(`Undo delete of ${name}`, () => sheets.undelete(vm), on),
    can.adopt && act(`Adopt ${name}`, () => sheets.adopt(vm), on),
    can.remove && act(`Delete ${name}…`, () => sheets.remove(vm), on),
    can.purge && act(`Destroy ${name} now…`, () => sheets.purge(vm), on),
  ])
}

function hostActs(host: Host, sheets: Sheets['host']): Act[] {
  const on = { hint: host.address || 'this computer' }
  const { id, name } = host
  const connected = host.link === 'connected'
  return those([
    act(`Create VM on ${name}`, () => go({ page: 'create-vm', host: id }), on),
    host.kind === 'ssh' && act(`Shell on ${name}`, () => openShell({ kind: 'host', id }), on),
    !connected && act(`Try ${name} now`, () => void reconnectHost(host), on),
    !connected && host.kind === 'ssh' && act(`Sign in to ${name}…`, () => sheets.signIn(host), on),
    offeredKey(host) !== undefined && act(`Compare keys of ${name}…`, () => sheets.compareKeys(host), on),
    ownerOf(host) !== undefined && act(`Take ${name} over…`, () => sheets.takeOver(host), on),
    act(`Edit ${name}…`, () => sheets.edit([host]), { ...on, ...keysOf('edit') }),
    host.draining === ''
      ? act(`Drain ${name}…`, () => sheets.drain([host]), on)
      : act(`Undrain ${name}`, () => void undrainHost(host), on),
    host.upgradeAvailable !== '' && connected && act(`Update the agent of ${name}…`, () => sheets.upgrade([host]), on),
    act(`Show only ${name}`, () => setScope({ kind: 'host', id }), on),
    act(`Remove ${name}…`, () => sheets.remove(host), on),
  ])
}
