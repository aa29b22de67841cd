import { randomBytes } from 'node:crypto'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import { clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { POLICY_NOT_REACHED } from '../../../ipc/clock-words.ts'
import { acceptUserData } from '../../../ipc/cloud-init/accept.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { CreateVmRequest, Vm, VmService } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type Checked, check } from '../../../ipc/rules.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { ImagesStore } from '../store/images-store.ts'
import type { TenantsStore } from '../store/tenants-store.ts'
import type { NewVm, VmRow } from '../store/vm-row.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { isAnswering } from '../sync/answering.ts'
import type { Registry } from '../sync/registry.ts'
import { adoptedVm } from '../vms/adopt-vm.ts'
import { isBeyondUndelete, planAction, type SeenVm, type VmAction } from '../vms/lifecycle-actions.ts'
import { findUnowned, notOfThisFleet } from '../vms/unowned-vms.ts'
import {
  type CheckedCreate,
  checkFits,
  checkNetwork,
  chooseHost,
  chooseImage,
  type HostCandidate,
  type ImageChoice,
  NO_OPINION,
  withDefaults,
} from '../vms/vm-defaults.ts'
import { findVm, getDeletedVm, getLiveVm, getVm } from '../vms/vm-directory.ts'
import type { FleetView } from './fleet-view.ts'
import { principalOf } from './principal.ts'

export interface VmsApiDeps {
  tenants: Pick<TenantsStore, 'graceS'>
  hosts: HostsStore
  vms: VmsStore
  images: ImagesStore
  registry: Registry
  view: FleetView
  clock: Clock
}

/** VMs: desired state only. Every answer comes from here; the host follows in its own time. */
export function vmsApi(deps: VmsApiDeps): Partial<ServiceImpl<typeof VmService>> {
  const { vms, view } = deps
  const live = (request: { vm: string }, context: HandlerContext, action: VmAction) => ({
    vm: act(deps, ownedVm(deps, principalOf(context).tenant, check('vmRef', request).vm), action),
  })
  const deleted = (tenant: string, ref: string, action: VmAction, lost: (vm: VmRow) => boolean) =>
    act(
      deps,
      owned(deps, tenant, ref, () => getDeletedVm(vms, tenant, ref, lost)),
      action,
    )
  return {
    listVms: (_, context) => ({ vms: view.vms(principalOf(context).tenant) }),
    getVm: (request, context) => ({ vm: getShown(deps, principalOf(context).tenant, check('vmRef', request).vm) }),
    createVm: (request, context) => createVm(deps, principalOf(context).tenant, request),
    startVm: (request, context) => live(request, context, { do: 'start' }),
    stopVm: (request, context) => live(request, context, { do: 'stop', force: request.force }),
    restartVm: (request, context) => live(request, context, { do: 'restart' }),
    deleteVm: (request, context) => {
      const graceS = deps.tenants.graceS(principalOf(context).tenant)
      return live(request, context, { do: 'delete', graceS })
    },
    undeleteVm: (request, context) => {
      const { tenant } = principalOf(context)
      const { vm, newName } = check('undeleteVm', request)
      const now = new Date(deps.clock.now())
      const lost = (row: VmRow) => isBeyondUndelete(row, seenOf(deps, row), now)
      return { vm: deleted(tenant, vm, { do: 'undelete', newName }, lost) }
    },
    purgeVm: (request, context) => {
      const { vm } = check('vmRef', request)
      deleted(principalOf(context).tenant, vm, { do: 'purge' }, (row) => row.graceS === 0)
      return {}
    },
    adoptVm: (request, context) => adoptVm(deps, principalOf(context).tenant, check('adoptVm', request)),
    updateVm: (request, context) =>
      updateVm(
        deps,
        principalOf(context).tenant,
        check('updateVm', { ...request, clockPolicy: request.clockPolicy ?? '' }),
      ),
  }
}

function updateVm(deps: VmsApiDeps, tenant: string, { vm: ref, clockPolicy: word }: Checked<'updateVm'>) {
  const row = ownedVm(deps, tenant, ref)
  const clockPolicy = word === '' ? row.clockPolicy : clockPolicyOf(word)
  if (clockPolicy === row.clockPolicy) return { vm: deps.view.vm(row) }
  const next = deps.vms.edit(row.id, 'vm.update', { clockPolicy }, { clock_policy: clockPolicy })
  return { vm: deps.view.vm(next), notReached: POLICY_NOT_REACHED }
}

/** A VM of the tenant that is not deleted, by name or id. Raises vm/not-found, vm/deleted, vm/unowned. */
export const ownedVm = (deps: Pick<VmsApiDeps, 'vms' | 'hosts' | 'view'>, tenant: string, ref: string): VmRow =>
  owned(deps, tenant, ref, getLiveVm)

/** One of this fleet; raises vm/unowned where a host keeps the VM that is meant, else what `get` does. */
function owned(
  { vms, hosts, view }: Pick<VmsApiDeps, 'vms' | 'hosts' | 'view'>,
  tenant: string,
  ref: string,
  get: (vms: VmsStore, tenant: string, ref: string) => VmRow,
): VmRow {
  try {
    return get(vms, tenant, ref)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'vm/not-found') throw error
    const unowned = findUnowned(view.unowned(tenant), ref)
    throw unowned ? notOfThisFleet(unowned, hosts.findIn(tenant, unowned.hostId)) : error
  }
}

/** Looking is open to VMs of no fleet too. */
function getShown({ vms, view }: VmsApiDeps, tenant: string, ref: string): Vm | undefined {
  const row = findVm(vms, tenant, ref)
  const unowned = row ? undefined : findUnowned(view.unowned(tenant), ref)
  return unowned ? view.findVm(tenant, unowned.id) : view.vm(row ?? getVm(vms, tenant, ref))
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
  return { vm: view.vm(kept(() => vms.adopt(adoptedVm(unowned, newName)))), adopted: true }
}

function createVm(deps: VmsApiDeps, tenant: string, request: CreateVmRequest): { vm: Vm; created: boolean } {
  const found = findCreated(deps, tenant, request)
  if (found) return { vm: deps.view.vm(found), created: false }
  const { name } = withDefaults(request, NO_OPINION)
  acceptUserData(request.cloudInit)
  const host = chooseHost(candidates(deps, tenant), request.host, request.network)
  const image = chooseImage(request, deps.images, host)
  const checked = withDefaults({ ...request, name }, image.defaults)
  checkNetwork(checked.network, host)
  checkFits(checked, host)
  const row = deps.vms.create(newVm(request, checked, image, host))
  return { vm: deps.view.vm(row), created: true }
}

function findCreated({ vms }: VmsApiDeps, tenant: string, request: CreateVmRequest): VmRow | undefined {
  const byId = request.vmId === '' ? undefined : vms.findIn(tenant, request.vmId)
  if (byId?.deletedAt) throw new Fault('vm/deleted', 'permanent', { vm: byId.name })
  return byId ?? (request.ifAbsent ? vms.findLive(tenant, request.name) : undefined)
}

function newVm(request: CreateVmRequest, vm: CheckedCreate, image: ImageChoice, host: HostCandidate): NewVm {
  return {
    id: vm.vmId || randomBytes(16).toString('hex'),
    hostId: host.id,
    name: vm.name,
    imageUrl: image.url,
    imageSha256: image.sha256,
    imageKind: image.kind,
    imageFormat: image.format,
    clockPolicy: clockPolicyOf(vm.clockPolicy),
    cloudInit: vm.cloudInit,
    vcpus: vm.vcpus,
    memMb: vm.memMb,
    diskGb: vm.diskGb,
    powerState: vm.power,
    autostart: request.autostart ?? true,
    network: vm.network,
    backend: vm.backend,
    labels: vm.labels,
    sshAuthorizedKeys: vm.sshAuthorizedKeys,
    trustedCas: null,
    injectedKey: null,
  }
}

function candidates({ hosts, registry, view, clock }: VmsApiDeps, tenant: string): HostCandidate[] {
  const allocations = view.allocations(tenant)
  return hosts.list(tenant).map((host) => {
    const live = registry.live(host.id)
    return {
      id: host.id,
      name: host.name,
      accepting: host.status === 'enrolled' && host.draining === '',
      draining: host.draining !== '',
      answering: isAnswering(live, clock.monotonic()),
      arch: host.facts?.arch ?? '',
      backend: live.hello?.provisioner ?? host.backend,
      ...(host.capacity ? { capacity: host.capacity } : {}),
      ...(host.capacity ? { freeMemMb: host.capacity.memMb - (allocations.get(host.id)?.memMb ?? 0) } : {}),
      ...(live.hello ? { networks: live.hello.hostNetworks } : {}),
    }
  })
}

/** The name it has was given to another meanwhile: it is to get a new one. */
function kept<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'vm/name-taken') throw error
    throw new Fault(error.code, error.disposition, { ...error.params, kept: 'true' }, { cause: error })
  }
}

function act(deps: VmsApiDeps, row: VmRow, action: VmAction): Vm {
  const edit = planAction(row, action, seenOf(deps, row), new Date(deps.clock.now()))
  const detail = action.do === 'stop' && action.force ? { force: 'true' } : undefined
  return deps.view.vm(kept(() => deps.vms.edit(row.id, `vm.${action.do}`, edit, detail)))
}

function seenOf({ registry }: VmsApiDeps, row: VmRow): SeenVm {
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
