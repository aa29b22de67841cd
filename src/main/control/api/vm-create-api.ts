import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import { clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { acceptUserData } from '../../../ipc/cloud-init/accept.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { CreateVmRequest, Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { ImagesStore } from '../store/images-store.ts'
import type { TemplatesStore } from '../store/templates-store.ts'
import type { NewVm, VmRow } from '../store/vm-row.ts'
import { isAnswering } from '../sync/answering.ts'
import type { Registry } from '../sync/registry.ts'
import { withTemplate } from '../vms/template-plan.ts'
import {
  archsOf,
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
import type { OwnedVmDeps } from './owned-vm.ts'

export interface VmCreateDeps extends OwnedVmDeps {
  images: ImagesStore
  templates: Pick<TemplatesStore, 'resolve'>
  registry: Registry
  clock: Clock
}

/** One new VM, or the one `if_absent` or `vm_id` mean. Raises what the choices and the insert do; nothing is half made. */
export function createVm(deps: VmCreateDeps, tenant: string, asked: CreateVmRequest): { vm: Vm; created: boolean } {
  const found = findCreated(deps, tenant, asked)
  if (found) return { vm: deps.view.vm(found), created: false }
  const template = asked.template === '' ? undefined : deps.templates.resolve(tenant, asked.template)
  const request = template ? withTemplate(asked, template) : asked
  const { name } = withDefaults(request, NO_OPINION)
  acceptUserData(request.cloudInit)
  const wish = { network: request.network, archs: archsOf(request, deps.images) }
  const host = chooseHost(candidates(deps, tenant), request.host, wish)
  const image = chooseImage(request, deps.images, host)
  const checked = withDefaults({ ...request, name }, image.defaults)
  checkNetwork(checked.network, host)
  checkFits(checked, host)
  const row = deps.vms.create(newVm(request, checked, image, host))
  return { vm: deps.view.vm(row), created: true }
}

function findCreated({ vms }: VmCreateDeps, tenant: string, request: CreateVmRequest): VmRow | undefined {
  const byId = request.vmId === '' ? undefined : vms.findIn(tenant, request.vmId)
  if (byId?.deletedAt) throw new Fault('vm/deleted', 'permanent', { vm: byId.name })
  return byId ?? (request.ifAbsent ? vms.findLive(tenant, request.name) : undefined)
}

function newVm(request: CreateVmRequest, vm: CheckedCreate, image: ImageChoice, host: HostCandidate): NewVm {
  return {
    id: vm.vmId || newVmId(),
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
    autostartDelayS: vm.autostartDelayS,
    autostartOrder: vm.autostartOrder,
    protected: request.protected,
    network: vm.network,
    backend: vm.backend,
    labels: vm.labels,
    sshAuthorizedKeys: vm.sshAuthorizedKeys,
    trustedCas: null,
    injectedKey: null,
  }
}

/** 16 random bytes. */
export const newVmId = (): string => randomBytes(16).toString('hex')

function candidates(deps: VmCreateDeps, tenant: string): HostCandidate[] {
  const allocations = deps.view.allocations(tenant)
  return deps.hosts.list(tenant).map((host) => hostCandidate(deps, host, allocations.get(host.id)?.memMb ?? 0))
}

/** A host as the checks see it; `committedMb` = MiB of memory its VMs have. */
export function hostCandidate(
  { registry, clock }: Pick<VmCreateDeps, 'registry' | 'clock'>,
  host: HostRow,
  committedMb: number,
): HostCandidate {
  const live = registry.live(host.id)
  return {
    id: host.id,
    name: host.name,
    accepting: host.status === 'enrolled' && host.draining === '',
    draining: host.draining !== '',
    answering: isAnswering(live, clock.monotonic()),
    arch: host.facts?.arch ?? '',
    backend: live.hello?.provisioner ?? host.backend,
    ...(host.capacity ? { capacity: host.capacity, freeMemMb: host.capacity.memMb - committedMb } : {}),
    ...(live.hello ? { networks: live.hello.hostNetworks } : {}),
  }
}
