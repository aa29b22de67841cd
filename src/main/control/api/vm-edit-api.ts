import type { UpdateVmRequest } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { Registry } from '../sync/registry.ts'
import { type EditedHost, type EditPlan, planEdit } from '../vms/edit-plan.ts'
import { checkFits } from '../vms/vm-defaults.ts'
import { mutateVm, ownedVm } from './owned-vm.ts'
import { hostCandidate, type VmCreateDeps } from './vm-create-api.ts'

/** Changes what is desired of a VM; its host follows in its own time. Raises what `planEdit`, `checkFits` and `mutateVm` do. */
export function updateVm(deps: VmCreateDeps, tenant: string, request: UpdateVmRequest) {
  const { clockPolicy, vcpus, memMb, diskGb, name, ...rest } = request
  const asked = check('updateVm', {
    ...rest,
    clockPolicy: clockPolicy ?? '',
    vcpus: vcpus ?? 0,
    memMb: memMb ?? 0,
    diskGb: diskGb ?? 0,
    name: name ?? '',
  })
  let planned: EditPlan | undefined
  const plan = (row: VmRow) => {
    planned = planEdit(row, asked, editedHost(deps, row), guestOf(deps.registry, row))
    requireRoom(deps, row, planned)
    return planned.edit
  }
  const { vm } = mutateVm(deps, { find: () => ownedVm(deps, tenant, asked.vm), action: 'vm.update', plan })
  const { notReached = '', needsRestart = [] } = planned ?? {}
  return { ...(vm ? { vm } : {}), notReached, needsRestart }
}

/** Only what grows is judged: a VM that is too large already may be made smaller, or renamed. */
function requireRoom(deps: VmCreateDeps, row: VmRow, { edit }: EditPlan): void {
  const grown = (to = 0, from: number) => (to > from ? to : 0)
  const vcpus = grown(edit?.vcpus, row.vcpus)
  const memMb = grown(edit?.memMb, row.memMb)
  const host = deps.hosts.findIn(row.tenant, row.hostId)
  if (!host || (vcpus === 0 && memMb === 0)) return
  checkFits({ name: row.name, vcpus, memMb, backend: '' }, hostCandidate(deps, host, 0))
}

/** What its agent can do, and what it runs guests with. */
export function editedHost({ hosts, registry }: Pick<VmCreateDeps, 'hosts' | 'registry'>, row: VmRow): EditedHost {
  const host = hosts.findIn(row.tenant, row.hostId)
  const { hello } = registry.live(row.hostId)
  return {
    name: host?.name ?? '',
    features: hello?.features,
    agentVersion: hello?.agentVersion ?? '',
    backend: hello?.provisioner ?? host?.backend ?? '',
  }
}

function guestOf(registry: Registry, row: VmRow) {
  const seen = registry.live(row.hostId).vms?.get(row.id)
  return { runs: seen?.power === 'running' || seen?.power === 'paused', needsRestart: seen?.needsRestart ?? [] }
}
