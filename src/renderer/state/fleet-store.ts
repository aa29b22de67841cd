import { createStore } from 'zustand/vanilla'
import type { FaultData } from '../../ipc/faults.ts'
import type { FleetDelta, FleetState, WatchFleetResponse } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Port } from '../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'

type ById<T> = ReadonlyMap<string, T>

/** Whether what is shown is still being told. `lost` keeps the last known state on the screen, with its age. */
export type FeedLink =
  | { state: 'opening' }
  | { state: 'live' }
  /** This window has no session: its link was used or is too old. Only a new start of the app helps. */
  | { state: 'signed-out' }
  | { state: 'lost'; since: number; nextTryAt: number; fault: FaultData }

export interface FleetSnapshot {
  /** Undefined until the first whole state: nothing is known, which is not an empty fleet. */
  revision: bigint | undefined
  hosts: ById<Host>
  vms: ById<Vm>
  images: ById<Image>
  tasks: ById<Task>
  ports: ById<Port>
  feed: FeedLink
}

export const EMPTY_FLEET: FleetSnapshot = {
  revision: undefined,
  hosts: new Map(),
  vms: new Map(),
  images: new Map(),
  tasks: new Map(),
  ports: new Map(),
  feed: { state: 'opening' },
}

type Rows = Pick<FleetSnapshot, 'hosts' | 'vms' | 'images' | 'tasks' | 'ports'>

/** Messages of WatchFleet onto what is known, many at once: each list is copied once, however many of its rows change. */
export class FleetBatch {
  #next: FleetSnapshot
  /** Lists made by this batch, so that nobody else holds them yet. */
  readonly #mine = new Set<unknown>()

  constructor(known: FleetSnapshot) {
    this.#next = known
  }

  /** What is known now. Rows no message named keep their identity. */
  get next(): FleetSnapshot {
    return this.#next
  }

  /** False = a delta was missed, so the stream must be opened again. */
  take({ revision, message }: WatchFleetResponse): boolean {
    if (message.case === 'state') this.#next = { ...this.#next, ...wholeState(message.value), revision }
    if (message.case !== 'delta') return true
    if (this.#next.revision === undefined || revision !== this.#next.revision + 1n) return false
    this.#merge('hosts', message.value.hosts, message.value.removedHostIds)
    this.#merge('vms', message.value.vms, message.value.removedVmIds)
    this.#merge('images', message.value.images, message.value.removedImageIds)
    this.#merge('tasks', message.value.tasks, message.value.removedTaskIds)
    this.#merge('ports', message.value.ports, message.value.removedPortIds)
    this.#measure(message.value)
    this.#next = { ...this.#next, revision }
    return true
  }

  #own<K extends keyof Rows>(list: K): Map<string, { id: string }> {
    const known: ById<{ id: string }> = this.#next[list]
    if (this.#mine.has(known)) return known as Map<string, { id: string }>
    const copy = new Map(known)
    this.#mine.add(copy)
    this.#next = { ...this.#next, [list]: copy }
    return copy
  }

  #merge(list: keyof Rows, upserts: readonly { id: string }[], removed: readonly string[]): void {
    if (upserts.length === 0 && removed.length === 0) return
    const rows = this.#own(list)
    for (const id of removed) rows.delete(id)
    for (const row of upserts) rows.set(row.id, row)
  }

  #measure({ vmMetrics, vmClocks }: FleetDelta): void {
    if (vmMetrics.length === 0 && vmClocks.length === 0) return
    const vms = this.#own('vms') as Map<string, Vm>
    const change = (id: string, edit: (vm: Vm) => Vm) => {
      const vm = vms.get(id)
      if (vm) vms.set(id, edit(vm))
    }
    for (const { vmId, metrics } of vmMetrics)
      change(vmId, ({ metrics: _, ...rest }) => (metrics ? { ...rest, metrics } : rest))
    for (const { vmId, clock } of vmClocks) change(vmId, ({ clock: _, ...rest }) => (clock ? { ...rest, clock } : rest))
  }
}

function wholeState(state: FleetState): Rows {
  return {
    hosts: byId(state.hosts),
    vms: byId(state.vms),
    images: byId(state.images),
    tasks: byId(state.tasks),
    ports: byId(state.ports),
  }
}

const byId = <T extends { id: string }>(rows: readonly T[]): ById<T> => new Map(rows.map((row) => [row.id, row]))

/** A VM an answer brought before the stream did, so that its page is there at once; what the stream told stands. */
export function knowVm(store: FleetStore, vm: Vm): void {
  const { vms } = store.getState()
  if (!vms.has(vm.id)) store.setState({ vms: new Map(vms).set(vm.id, vm) })
}

export const createFleetStore = () => createStore<FleetSnapshot>(() => EMPTY_FLEET)
export type FleetStore = ReturnType<typeof createFleetStore>

/** The one fleet of this window, fed by `runFleetFeed`. */
export const fleetStore = createFleetStore()
