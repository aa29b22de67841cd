import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'

/** Asks, and puts what went wrong on the screen. The state itself comes back through the fleet stream. */
async function ask(call: Promise<unknown>, said?: string): Promise<boolean> {
  try {
    await call
    if (said) toastDone(said)
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

const at = (vm: Vm) => `${vm.name} on ${vm.hostName}`

export const startVm = (vm: Vm) => ask(api.vms.startVm({ vm: vm.id }), `Starting ${at(vm)}`)
export const stopVm = (vm: Vm) => ask(api.vms.stopVm({ vm: vm.id }), `Stopping ${at(vm)}`)
export const forceStopVm = (vm: Vm) => ask(api.vms.stopVm({ vm: vm.id, force: true }), `Stopping ${at(vm)} by force`)
export const restartVm = (vm: Vm) => ask(api.vms.restartVm({ vm: vm.id }), `Restarting ${at(vm)}`)
export const purgeVm = (vm: Vm) => ask(api.vms.purgeVm({ vm: vm.id }), `Destroying ${at(vm)}`)
export const undeleteVm = (vm: Vm, newName = '') =>
  ask(api.vms.undeleteVm({ vm: vm.id, newName }), `Bringing back ${newName || vm.name}`)
/** Takes it from no fleet into this one, as it runs. */
export const adoptVm = (vm: Vm, newName = '') =>
  ask(api.vms.adoptVm({ vm: vm.id, newName }), `Adopted ${newName || vm.name} on ${vm.hostName}`)

export async function deleteVm(vm: Vm): Promise<boolean> {
  const done = await ask(api.vms.deleteVm({ vm: vm.id }))
  if (done) toastDone(`Moved ${at(vm)} to quarantine`, { label: 'Undo', run: () => void undeleteVm(vm) })
  return done
}
