import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../../ipc/base/clock.ts'
import {
  type FleetDelta,
  FleetDeltaSchema,
  type FleetState,
  VmClockChangeSchema,
  VmMetricsChangeSchema,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { type Host, HostSchema } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { type Image, ImageSchema } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { type Port, PortSchema } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { type Task, TaskSchema } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { type Vm, VmSchema } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { Change } from '../store/database.ts'
import { Shown } from './shown.ts'
import { clocksDiffer } from './shown-clocks.ts'
import { metricsDiffer } from './shown-metrics.ts'
import { ShownPart } from './shown-part.ts'

/** Deltas at most this often, ms. */
export const DELTA_MS = 100
/** Values age without an event: looked at this often while somebody watches, ms. */
const AGING_MS = 5_000
/** A watcher this many deltas behind is ended, so that it opens again and gets the whole state. */
const MAX_QUEUED = 100

/** What the feed reads; made at call time. */
export interface FeedView {
  state(): FleetState
  hosts(): Host[]
  images(): Image[]
  findHost(id: string): Host | undefined
  /** Every VM of a host, unowned ones too. */
  vmsOf(hostId: string): Vm[]
  findVm(id: string): Vm | undefined
  findTask(id: string): Task | undefined
  portsOf(hostId: string): Port[]
}

interface Watcher {
  queue: WatchFleetResponse[]
  overrun: boolean
  wake: () => void
}

/** What of a host changes by itself with time. */
const timelessHost = ({ pendingUpgrade, ...host }: Host): Host => ({
  ...host,
  lastSeenAgeMs: undefined,
  ...(pendingUpgrade ? { pendingUpgrade: { ...pendingUpgrade, ageS: 0n } } : {}),
})

/** Whole state once, then what changed, with rising revisions; coalesced, the same for every watcher. */
export class FleetFeed {
  readonly #view: FeedView
  readonly #clock: Clock
  readonly #watchers = new Set<Watcher>()
  readonly #hosts = new Shown<Host>(HostSchema, timelessHost)
  readonly #vms = new Shown<Vm>(
    VmSchema,
    (vm) => ({
      ...vm,
      asOf: undefined,
      metrics: undefined,
      clock: undefined,
      // While cloud-init is at work its age is the sign of life.
      guest: vm.guest && { ...vm.guest, ...(vm.guest.cloudInit === 'running' ? {} : { asOf: undefined }) },
    }),
    (vm) => vm.hostId,
  )
  readonly #metrics = new ShownPart((vm) => vm.metrics, metricsDiffer)
  readonly #clocks = new ShownPart((vm) => vm.clock, clocksDiffer)
  readonly #images = new Shown<Image>(ImageSchema, (image) => image)
  readonly #tasks = new Shown<Task>(TaskSchema, (task) => task)
  readonly #ports = new Shown<Port>(
    PortSchema,
    (port) => port,
    (port) => port.hostId,
  )
  readonly #dirty = new Dirty()
  #revision = 0n
  #flushedAt = Number.NEGATIVE_INFINITY
  #scheduled: Promise<void> | undefined
  #aging: AbortController | undefined

  constructor(view: FeedView, clock: Clock) {
    this.#view = view
    this.#clock = clock
  }

  /** Rows that a commit changed. */
  rowsChanged(changes: readonly Change[]): void {
    if (this.#watchers.size === 0) return
    for (const { noun, id } of changes) {
      if (noun === 'host') this.#dirty.hosts.add(id)
      else if (noun === 'vm') this.#dirty.vms.add(id)
      else if (noun === 'task') this.#dirty.tasks.add(id)
      if (noun === 'image' || noun === 'vm') this.#dirty.images = true
      if (noun === 'image') for (const vmId of this.#vms.ids()) this.#dirty.vms.add(vmId)
    }
    this.#schedule()
  }

  /** A host's live state changed, and with it what is known of its VMs. */
  hostChanged(hostId: string): void {
    if (this.#watchers.size === 0) return
    this.#dirty.live.add(hostId)
    this.#dirty.images = true
    this.#schedule()
  }

  /** Images on their way to a host got further or failed. */
  pushChanged(hostId: string): void {
    if (this.#watchers.size === 0) return
    this.#dirty.live.add(hostId)
    this.#schedule()
  }

  taskShown(taskId: string): void {
    if (this.#watchers.size === 0) return
    this.#dirty.tasks.add(taskId)
    this.#schedule()
  }

  /** Ends when the signal aborts or the watcher falls too far behind. */
  async *watch(signal: AbortSignal): AsyncGenerator<WatchFleetResponse> {
    const watcher: Watcher = { queue: [], overrun: false, wake: () => {} }
    const stop = () => watcher.wake()
    signal.addEventListener('abort', stop, { once: true })
    this.#join(watcher)
    try {
      while (!signal.aborted && !watcher.overrun) {
        const next = watcher.queue.shift()
        if (next) yield next
        else {
          await new Promise<void>((resolve) => {
            watcher.wake = resolve
            if (signal.aborted) resolve()
          })
        }
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#leave(watcher)
    }
  }

  #join(watcher: Watcher): void {
    this.#flush()
    const state = this.#view.state()
    if (this.#watchers.size === 0) {
      this.#hosts.reset(state.hosts)
      this.#vms.reset(state.vms)
      for (const part of [this.#metrics, this.#clocks]) part.reset(state.vms)
      this.#images.reset(state.images)
      this.#tasks.reset(state.tasks)
      this.#ports.reset(state.ports)
      this.#startAging()
    }
    this.#watchers.add(watcher)
    const message = { case: 'state' as const, value: state }
    watcher.queue.push(create(WatchFleetResponseSchema, { revision: this.#revision, message }))
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    this.#aging?.abort()
    this.#dirty.clear()
  }

  #startAging(): void {
    const stop = new AbortController()
    this.#aging = stop
    const tick = async () => {
      while (!stop.signal.aborted) {
        await this.#clock.sleep(AGING_MS, stop.signal)
        this.#guarded(() => {
          for (const host of this.#view.hosts()) {
            if (this.#hosts.find(host.id)?.stale !== host.stale) this.hostChanged(host.id)
          }
        })
      }
    }
    tick().catch(() => {})
  }

  /** Ends the watchers: they open again and get the whole state. */
  restart(): void {
    for (const watcher of this.#watchers) {
      watcher.overrun = true
      watcher.wake()
    }
  }

  /** A store that cannot be read now ends the watchers: they open again and see why. */
  #guarded(work: () => void): void {
    try {
      work()
    } catch {
      this.restart()
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    const wait = Math.max(0, this.#flushedAt + DELTA_MS - this.#clock.monotonic())
    this.#scheduled = this.#clock.sleep(wait).then(() => {
      this.#scheduled = undefined
      this.#guarded(() => this.#flush())
    })
  }

  #flush(): void {
    if (this.#watchers.size === 0) return
    const delta = this.#takeDelta()
    if (!delta) return
    this.#flushedAt = this.#clock.monotonic()
    this.#revision++
    const response = create(WatchFleetResponseSchema, {
      revision: this.#revision,
      message: { case: 'delta', value: delta },
    })
    for (const watcher of this.#watchers) {
      if (watcher.queue.length >= MAX_QUEUED) watcher.overrun = true
      else watcher.queue.push(response)
      watcher.wake()
    }
  }

  #takeDelta(): FleetDelta | undefined {
    const delta = create(FleetDeltaSchema)
    for (const id of new Set([...this.#dirty.hosts, ...this.#dirty.live])) {
      this.#hosts.put(id, this.#view.findHost(id), delta.hosts, delta.removedHostIds)
      this.#takePortsOf(id, delta)
    }
    const live = [...this.#dirty.live].flatMap((hostId) => this.#takeVmsOf(hostId, delta))
    for (const id of this.#dirty.vms) this.#vms.put(id, this.#view.findVm(id), delta.vms, delta.removedVmIds)
    for (const part of [this.#metrics, this.#clocks]) {
      part.forget(delta.removedVmIds)
      part.sent(delta.vms)
    }
    for (const { vmId, part: metrics } of this.#metrics.take(live))
      delta.vmMetrics.push(create(VmMetricsChangeSchema, { vmId, ...(metrics ? { metrics } : {}) }))
    for (const { vmId, part: clock } of this.#clocks.take(live))
      delta.vmClocks.push(create(VmClockChangeSchema, { vmId, ...(clock ? { clock } : {}) }))
    for (const id of this.#dirty.tasks) this.#tasks.put(id, this.#view.findTask(id), delta.tasks, delta.removedTaskIds)
    if (this.#dirty.images) this.#images.putAll(this.#view.images(), delta.images, delta.removedImageIds)
    this.#dirty.clear()
    const empty = Object.values(delta).every((part) => !Array.isArray(part) || part.length === 0)
    return empty ? undefined : delta
  }

  #takePortsOf(hostId: string, delta: FleetDelta): void {
    const now = new Map(this.#view.portsOf(hostId).map((port) => [port.id, port]))
    for (const [id, port] of now) this.#ports.put(id, port, delta.ports, delta.removedPortIds)
    for (const id of this.#ports.idsIn(hostId))
      if (!now.has(id)) this.#ports.put(id, undefined, delta.ports, delta.removedPortIds)
  }

  #takeVmsOf(hostId: string, delta: FleetDelta): Vm[] {
    const now = new Map(this.#view.vmsOf(hostId).map((vm) => [vm.id, vm]))
    for (const [id, vm] of now) this.#vms.put(id, vm, delta.vms, delta.removedVmIds)
    for (const id of this.#vms.idsIn(hostId)) {
      if (!now.has(id)) this.#vms.put(id, this.#view.findVm(id), delta.vms, delta.removedVmIds)
    }
    return [...now.values()]
  }
}

/** What may differ from what watchers were shown; `live` = hosts with all their VMs. */
class Dirty {
  readonly hosts = new Set<string>()
  readonly live = new Set<string>()
  readonly vms = new Set<string>()
  readonly tasks = new Set<string>()
  images: boolean = false

  clear(): void {
    for (const set of [this.hosts, this.live, this.vms, this.tasks]) set.clear()
    this.images = false
  }
}
