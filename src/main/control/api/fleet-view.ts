import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../../ipc/base/clock.ts'
import { type FleetState, FleetStateSchema } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { ClockVerdicts } from '../clock/clock-verdicts.ts'
import type { PushState } from '../hosts/image-push.ts'
import type { ExposureRow, ExposuresStore } from '../store/exposures-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { ImageRow, ImagesStore } from '../store/images-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { hasNewer, newerData } from '../sync/newer-data.ts'
import type { Registry } from '../sync/registry.ts'
import { seenBy } from '../sync/seen.ts'
import type { Keep } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import { type UnownedVm, unownedOf } from '../vms/unowned-vms.ts'
import type { ShownUpgrade } from './host-life-view.ts'
import { type Allocation, hostView, NOTHING_ALLOCATED } from './host-view.ts'
import { imageView } from './image-view.ts'
import { portView } from './port-view.ts'
import { taskView } from './task-view.ts'
import { unownedView, vmView } from './vm-view.ts'

export interface FleetSources {
  hosts: HostsStore
  vms: VmsStore
  exposures: ExposuresStore
  images: ImagesStore
  tasks: TaskRunner
  registry: Registry
  pushes: { state(hostId: string, sha256: string): PushState | undefined }
  /** Absent = nothing is known of any. */
  secrets?: { keptIn(hostId: string): Keep | undefined }
  /** Absent = nothing is known of upgrades. */
  life?: { shown(host: HostRow): ShownUpgrade }
  clock: Clock
}

/** What clients see, made from the store and the registry at read time. */
export class FleetView {
  readonly #from: FleetSources
  readonly #clocks: ClockVerdicts

  constructor(sources: FleetSources) {
    this.#from = sources
    this.#clocks = new ClockVerdicts(sources.registry, sources.clock)
  }

  /** All of one tenant, and what all tenants share. */
  state(tenant: string): FleetState {
    const { tasks } = this.#from
    return create(FleetStateSchema, {
      hosts: this.hosts(tenant),
      vms: this.vms(tenant),
      images: this.images(tenant),
      tasks: tasks.list(tenant).map(taskView),
      ports: this.ports(tenant),
    })
  }

  hosts(tenant: string): Host[] {
    const allocations = this.allocations(tenant)
    return this.#from.hosts.list(tenant).map((row) => this.#host(row, allocations.get(row.id)))
  }

  findHost(tenant: string, id: string): Host | undefined {
    const row = this.#from.hosts.findIn(tenant, id)
    return row && this.host(row)
  }

  host(row: HostRow): Host {
    return this.#host(row, allocate(this.#from.vms.listByHost(row.id)).get(row.id))
  }

  /** Every VM with a row, then those a host runs that no row names. */
  vms(tenant: string): Vm[] {
    const names = this.#imageNames()
    const rows = this.#from.vms.list(tenant)
    const hosts = this.#from.hosts.list(tenant)
    const byId = new Map(hosts.map((host) => [host.id, host]))
    const known = this.#known(rows)
    return [
      ...rows.flatMap((row) => {
        const host = byId.get(row.hostId)
        return host ? [this.#vm(row, host, names.get(row.imageSha256))] : []
      }),
      ...hosts.flatMap((host) => this.#unowned(host, known)),
    ]
  }

  vmsOf(tenant: string, hostId: string): Vm[] {
    const host = this.#from.hosts.findIn(tenant, hostId)
    if (!host) return []
    const names = this.#imageNames()
    const rows = this.#from.vms.listByHost(host.id)
    return [
      ...rows.map((row) => this.#vm(row, host, names.get(row.imageSha256))),
      ...this.#unowned(host, this.#known(rows)),
    ]
  }

  /** By id; one that no row names too. */
  findVm(tenant: string, id: string): Vm | undefined {
    const row = this.#from.vms.findIn(tenant, id)
    if (row) return this.vm(row)
    const unowned = this.unowned(tenant).find((vm) => vm.id === id)
    return unowned && this.#unownedVm(unowned, this.#from.hosts.get(unowned.hostId))
  }

  /** Of all hosts of the tenant, those that no row names. */
  unowned(tenant: string): UnownedVm[] {
    const { hosts, registry } = this.#from
    return hosts.list(tenant).flatMap((host) => unownedOf(host.id, registry.live(host.id), this.#known()))
  }

  /** Ascending by host and host port. */
  ports(tenant: string): Port[] {
    const hosts = [...this.#from.hosts.list(tenant)].sort((a, b) => (a.name < b.name ? -1 : 1))
    return hosts.flatMap((host) => this.portsOf(tenant, host.id))
  }

  /** Ascending by host port. */
  portsOf(tenant: string, hostId: string): Port[] {
    if (!this.#from.hosts.findIn(tenant, hostId)) return []
    return this.#from.exposures.listByHost(hostId).flatMap((row) => this.#port(row) ?? [])
  }

  findPort(tenant: string, id: string): Port | undefined {
    const row = this.#from.exposures.findIn(tenant, id)
    return row && this.#port(row)
  }

  findTask(tenant: string, id: string): Task | undefined {
    const row = this.#from.tasks.find(tenant, id)
    return row && taskView(row)
  }

  vm(row: VmRow): Vm {
    return this.#vm(row, this.#from.hosts.get(row.hostId), this.#from.images.findBySha256(row.imageSha256)?.name)
  }

  /** Images are everybody's; who uses and who keeps them is told of the tenant alone. */
  images(tenant: string): Image[] {
    const hosts = this.#from.hosts.list(tenant)
    return this.#from.images.list().map((row) => this.#image(tenant, row, hosts))
  }

  image(tenant: string, row: ImageRow): Image {
    return this.#image(tenant, row, this.#from.hosts.list(tenant))
  }

  #image(tenant: string, row: ImageRow, hosts: readonly HostRow[]): Image {
    const cachedOn = hosts
      .filter((host) => this.#from.registry.live(host.id).report?.images.some((i) => i.sha256 === row.sha256))
      .map((host) => host.id)
    return imageView(row, this.#from.vms.countByImage(tenant, row.sha256), cachedOn)
  }

  /** Committed per host id to VMs that are not deleted. */
  allocations(tenant: string): Map<string, Allocation> {
    return allocate(this.#from.vms.list(tenant))
  }

  #host(row: HostRow, allocation: Allocation | undefined): Host {
    const { registry, clock, vms } = this.#from
    const live = registry.live(row.id)
    const seen = seenBy(live)
    const newer = hasNewer(this.#from.hosts, row, seen)
      ? newerData(row, seen, vms.listByHost(row.id), live.report)
      : undefined
    return hostView(row, live, allocation ?? NOTHING_ALLOCATED, clock.monotonic(), {
      newer,
      wrong: this.#clocks.of(row.id),
      secretsKept: this.#from.secrets?.keptIn(row.id),
      upgrade: this.#from.life?.shown(row),
      vmName: (vmId) => {
        const vm = vms.find(vmId)
        return vm?.hostId === row.id ? vm.name : ''
      },
    })
  }

  #vm(row: VmRow, host: HostRow, imageName: string | undefined): Vm {
    const { registry, pushes, clock } = this.#from
    const live = registry.live(host.id)
    const push = pushes.state(host.id, row.imageSha256)
    const around = { host, live, imageName: imageName ?? '', monotonicNow: clock.monotonic() }
    return vmView(row, { ...around, ...(push ? { push } : {}) })
  }

  #port(row: ExposureRow): Port | undefined {
    const { vms, hosts, registry, clock } = this.#from
    const [vm, host] = [vms.find(row.vmId), hosts.find(row.hostId)]
    if (!vm || !host) return undefined
    return portView(row, { vm, host, live: registry.live(host.id), monotonicNow: clock.monotonic() })
  }

  #unowned(host: HostRow, known: { has(id: string): boolean }): Vm[] {
    return unownedOf(host.id, this.#from.registry.live(host.id), known).map((vm) => this.#unownedVm(vm, host))
  }

  #unownedVm(vm: UnownedVm, host: HostRow): Vm {
    const { hosts, registry, clock } = this.#from
    const live = registry.live(host.id)
    const held = hasNewer(hosts, host, seenBy(live))
    return unownedView(vm, { host, live, held, monotonicNow: clock.monotonic() })
  }

  /** A row of whatever tenant owns its VM; `rows` = those that were read already. */
  #known(rows: readonly VmRow[] = []) {
    const read = new Set(rows.map(({ id }) => id))
    return { has: (id: string) => read.has(id) || this.#from.vms.find(id) !== undefined }
  }

  #imageNames(): Map<string, string> {
    return new Map(this.#from.images.list().map((image) => [image.sha256, image.name]))
  }
}

function allocate(rows: readonly VmRow[]): Map<string, Allocation> {
  const sums = new Map<string, Allocation>()
  for (const vm of rows) {
    if (vm.deletedAt) continue
    const sum = sums.get(vm.hostId) ?? NOTHING_ALLOCATED
    sums.set(vm.hostId, {
      vcpus: sum.vcpus + vm.vcpus,
      memMb: sum.memMb + vm.memMb,
      diskGb: sum.diskGb + vm.diskGb,
      vms: sum.vms + 1,
    })
  }
  return sums
}
