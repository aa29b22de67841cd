import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { fleetStore, knowVm } from '../../state/fleet-store.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import type { cloneRequest } from './clone-draft.ts'
import { type editRequest, fieldWords } from './edit-draft.ts'
import { vmQueryKeys } from './queries.ts'
import type { StartingPoint } from './starting-points.ts'

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

/** Nothing is under way at a host that does not answer: there it waits. */
const asked = (under: string, vm: Vm) =>
  vm.hostUnknown ? `${vm.name}: kept for ${vm.hostName}, which does not answer` : `${under} ${at(vm)}`

export const startVm = (vm: Vm) => ask(api.vms.startVm({ vm: vm.id }), asked('Starting', vm))
export const stopVm = (vm: Vm) => ask(api.vms.stopVm({ vm: vm.id }), asked('Stopping', vm))
export const forceStopVm = (vm: Vm) => ask(api.vms.stopVm({ vm: vm.id, force: true }), asked('Stopping by force', vm))
export const restartVm = (vm: Vm) => ask(api.vms.restartVm({ vm: vm.id }), asked('Restarting', vm))
export const purgeVm = (vm: Vm) => ask(api.vms.purgeVm({ vm: vm.id }), asked('Destroying', vm))
export const undeleteVm = (vm: Vm, newName = '') =>
  ask(api.vms.undeleteVm({ vm: vm.id, newName }), `Bringing back ${newName || vm.name}`)
/** Takes it from no fleet into this one, as it runs. */
export const adoptVm = (vm: Vm, newName = '') =>
  ask(api.vms.adoptVm({ vm: vm.id, newName }), `Adopted ${newName || vm.name} on ${vm.hostName}`)

export const protectVm = (vm: Vm, on: boolean) =>
  ask(api.vms.updateVm({ vm: vm.id, protected: on }), `${vm.name} is ${on ? 'protected' : 'no longer protected'}`)

/** Changes what is desired, then restarts it where that was asked. Throws what the API refuses. */
export async function applyEdit(vm: Vm, request: ReturnType<typeof editRequest>, restart: boolean): Promise<void> {
  const { needsRestart, notReached } = await api.vms.updateVm(request)
  if (restart) await api.vms.restartVm({ vm: vm.id })
  const waits =
    !restart && needsRestart.length > 0 ? ` At its next start the guest gets its ${fieldWords(needsRestart)}.` : ''
  const name = request.name ?? vm.name
  toastDone(
    `${restart ? `Changed and restarting ${name}.` : `Changed ${name}.`}${waits}${notReached && ` ${notReached}`}`,
  )
}

/** Makes a VM by name and place of the fleet's choosing; undefined = refused, which was said. */
export async function createFrom(request: StartingPoint['request']): Promise<Vm | undefined> {
  try {
    const { vm } = await api.vms.createVm(request)
    if (vm) knowVm(fleetStore, vm)
    return vm
  } catch (error) {
    toastFault(error)
    return undefined
  }
}

/** Answers the clone. Throws what the API refuses. */
export async function cloneVm(request: ReturnType<typeof cloneRequest>): Promise<Vm | undefined> {
  const { vm } = await api.vms.cloneVm(request)
  if (vm) knowVm(fleetStore, vm)
  return vm
}

/** Throws what the API refuses. */
export async function saveTemplate(request: { name: string; vm: string; description: string }): Promise<void> {
  await api.templates.createTemplate(request)
  await queryClient.invalidateQueries({ queryKey: vmQueryKeys.templates })
  toastDone(`Saved the template ${request.name}`)
}

export async function deleteVm(vm: Vm): Promise<boolean> {
  const done = await ask(api.vms.deleteVm({ vm: vm.id }))
  if (done) toastDone(`Moved ${at(vm)} to quarantine`, { label: 'Undo', run: () => void undeleteVm(vm) })
  return done
}
