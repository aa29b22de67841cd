import { Fault } from '../../../ipc/faults.ts'
import type { CloneVmRequest } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { check } from '../../../ipc/rules.ts'
import { clonedVm, cloneName, requireStopped } from '../vms/clone-plan.ts'
import { requireFeature } from '../vms/edit-plan.ts'
import { checkFits } from '../vms/vm-defaults.ts'
import { ownedVm } from './owned-vm.ts'
import { seenOf } from './vm-acts-api.ts'
import { hostCandidate, newVmId, type VmCreateDeps } from './vm-create-api.ts'
import { editedHost } from './vm-edit-api.ts'

/**
 * A VM of the disk of a stopped one, on its host. An agent that cannot would make it of the image instead, so the host has
 * to be there and say that it can. Raises host/no-answer, agent/cannot, vm/not-stopped and what creating a VM does.
 */
export function cloneVm(deps: VmCreateDeps, tenant: string, request: CloneVmRequest) {
  const { vms, hosts, registry, view } = deps
  const asked = check('cloneVm', { ...request, power: request.power || 'running' })
  const known = request.ifAbsent && asked.name !== '' ? vms.findLive(tenant, asked.name) : undefined
  if (known) return { vm: view.vm(known), created: false }
  const source = ownedVm(deps, tenant, asked.vm)
  const host = hosts.resolve(tenant, source.hostId)
  const isTaken = (name: string) => vms.findLive(tenant, name) !== undefined
  const clone = clonedVm(source, asked, { id: newVmId(), name: asked.name || cloneName(source.name, isTaken) })
  if (!registry.active(host.id)) throw new Fault('host/no-answer', 'transient', { host: host.name })
  requireFeature(editedHost(deps, source), 'clone', 'copy the disk of a VM')
  requireStopped(source, seenOf(deps, source))
  checkFits(clone, hostCandidate(deps, host, 0))
  return { vm: view.vm(vms.create(clone, 'vm.clone')), created: true }
}
