import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { VmService } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { TenantsStore } from '../store/tenants-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { Registry } from '../sync/registry.ts'
import { isBeyondUndelete, planAction, type SeenVm, type VmAction } from '../vms/lifecycle-actions.ts'
import { getDeletedVm } from '../vms/vm-directory.ts'
import { mutateVm, type OwnedVmDeps, ownedBy, ownedVm } from './owned-vm.ts'
import { principalOf } from './principal.ts'

export interface VmActsDeps extends OwnedVmDeps {
  tenants: Pick<TenantsStore, 'graceS'>
  registry: Registry
  clock: Clock
}

type Acts = 'startVm' | 'stopVm' | 'restartVm' | 'deleteVm' | 'undeleteVm' | 'purgeVm'

/** Power and the ways out and back: edits of desired state, answered whether or not the host is there. */
export function vmActs(deps: VmActsDeps): Pick<ServiceImpl<typeof VmService>, Acts> {
  const { vms, tenants, clock } = deps
  const live = (request: { vm: string }, context: HandlerContext, action: VmAction) => {
    const { vm: ref } = check('vmRef', request)
    return { vm: act(deps, () => ownedVm(deps, principalOf(context).tenant, ref), action) }
  }
  const deleted = (ref: string, context: HandlerContext, action: VmAction, lost: (vm: VmRow) => boolean) => {
    const { tenant } = principalOf(context)
    return act(deps, () => ownedBy(deps, tenant, ref, () => getDeletedVm(vms, tenant, ref, lost)), action)
  }
  return {
    startVm: (request, context) => live(request, context, { do: 'start' }),
    stopVm: (request, context) => live(request, context, { do: 'stop', force: request.force }),
    restartVm: (request, context) => live(request, context, { do: 'restart' }),
    deleteVm: (request, context) =>
      live(request, context, { do: 'delete', graceS: tenants.graceS(principalOf(context).tenant) }),
    undeleteVm: (request, context) => {
      const { vm, newName } = check('undeleteVm', request)
      const now = new Date(clock.now())
      const lost = (row: VmRow) => isBeyondUndelete(row, seenOf(deps, row), now)
      return { vm: deleted(vm, context, { do: 'undelete', newName }, lost) }
    },
    purgeVm: (request, context) => {
      deleted(check('vmRef', request).vm, context, { do: 'purge' }, (row) => row.graceS === 0)
      return {}
    },
  }
}

function act(deps: VmActsDeps, find: () => VmRow, action: VmAction) {
  const detail = action.do === 'stop' && action.force ? { force: 'true' } : {}
  const plan = (row: VmRow) => planAction(row, action, seenOf(deps, row), new Date(deps.clock.now()))
  return keepingName(() => mutateVm(deps, { find, action: `vm.${action.do}`, plan, detail }).vm)
}

/** A name that was given to another meanwhile: the VM keeps its own and is to get a new one. */
export function keepingName<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'vm/name-taken') throw error
    throw new Fault(error.code, error.disposition, { ...error.params, kept: 'true' }, { cause: error })
  }
}

/** What its host last said of it. */
export function seenOf({ registry }: Pick<VmActsDeps, 'registry'>, row: VmRow): SeenVm {
  const live = registry.live(row.hostId)
  const seen = live.vms?.get(row.id)
  const destroyAt = live.quarantined?.get(row.id)?.destroyAt
  return {
    power: seen?.power,
    phase: seen?.phase,
    destroyAt: destroyAt && timestampDate(destroyAt),
    destroyed: live.report?.destroyed.includes(row.id) ?? false,
  }
}
