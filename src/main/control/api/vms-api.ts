import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { VmService } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type Checked, check } from '../../../ipc/rules.ts'
import { hasNewer } from '../sync/newer-data.ts'
import { seenBy } from '../sync/seen.ts'
import { adoptedVm } from '../vms/adopt-vm.ts'
import { findUnowned } from '../vms/unowned-vms.ts'
import { shownVm } from './owned-vm.ts'
import { principalOf } from './principal.ts'
import { keepingName, type VmActsDeps, vmActs } from './vm-acts-api.ts'
import { cloneVm } from './vm-clone-api.ts'
import { vmCommand } from './vm-command-api.ts'
import { createVm, type VmCreateDeps } from './vm-create-api.ts'
import { updateVm } from './vm-edit-api.ts'

export type VmsApiDeps = VmActsDeps & VmCreateDeps

/** VMs: desired state only. Every answer comes from here; the host follows in its own time. */
export function vmsApi(deps: VmsApiDeps): ServiceImpl<typeof VmService> {
  return {
    listVms: (_, context) => ({ vms: deps.view.vms(principalOf(context).tenant) }),
    getVm: (request, context) => ({ vm: shownVm(deps, principalOf(context).tenant, check('vmRef', request).vm) }),
    createVm: (request, context) => createVm(deps, principalOf(context).tenant, request),
    cloneVm: (request, context) => cloneVm(deps, principalOf(context).tenant, request),
    updateVm: (request, context) => updateVm(deps, principalOf(context).tenant, request),
    adoptVm: (request, context) => adoptVm(deps, principalOf(context).tenant, check('adoptVm', request)),
    ...vmActs(deps),
    ...vmCommand(deps),
  }
}

function adoptVm({ vms, hosts, registry, view }: VmsApiDeps, tenant: string, { vm: ref, newName }: Checked<'adoptVm'>) {
  const unowned = findUnowned(view.unowned(tenant), ref)
  if (!unowned) {
    const row = vms.findIn(tenant, ref) ?? vms.findLive(tenant, newName || ref)
    if (!row) throw new Fault('vm/not-found', 'permanent', { vm: ref })
    return { vm: view.vm(row), adopted: false }
  }
  const host = hosts.resolve(tenant, unowned.hostId)
  if (!registry.active(host.id)) throw new Fault('host/no-answer', 'transient', { host: host.name })
  const live = registry.live(host.id)
  if (!unowned.spec && hasNewer(hosts, host, seenBy(live)))
    throw new Fault('host/newer-data', 'permanent', { host: host.name })
  return { vm: view.vm(keepingName(() => vms.adopt(adoptedVm(unowned, newName)))), adopted: true }
}
