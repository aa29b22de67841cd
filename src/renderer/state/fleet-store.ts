import { createStore } from 'zustand/vanilla'
import type { FaultData } from '../../ipc/faults.ts'
import type { FleetDelta, FleetState, WatchFleetResponse } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Port } from '../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type ById, RowList } from './row-list.ts'

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
  hosts: new RowList(),
  vms: new RowList(),
  images: new RowList(),
  tasks: new RowList(),
  ports: new RowList(),
  feed: { state: 'opening' },
}

type Rows = Pick<FleetSnapshot, 'hosts' | 'vms' | 'images' | 'tasks' | 'ports'>
type Changes<T> = Map<string, T | undefined>

/** Messages of WatchFleet onto what is known, many at once: each list is made anew once, however many of its rows change. */
export class FleetBatch {
  #known: FleetSnapshot
  readonly #changes = new Map<keyof Rows, Changes<{ id: string }>>()

  constructor(known: FleetSnapshot) {
    this.#known = known
  }

  /** What is known now. Rows no message named keep their identity. */
  get next(): FleetSnapshot {
    const changed = [...this.#changes].map(([list, changes]) => [list, this.#list(list).with(changes)])
    this.#changes.clear()
    this.#known = { ...this.#known, ...Object.fromEntries(changed) }
    return this.#known
  }

  /** False = a delta was missed, so the stream must be opened again. */
  take({ revision, message }: WatchFleetResponse): boolean {
    if (message.case === 'state') {
      this.#changes.clear()
      this.#known = { ...this.#known, ...wholeState(message.value), revision }
    }
    if (message.case !== 'delta') return true
    if (this.#known.revision === undefined || revision !== this.#known.revision + 1n) return false
    this.#merge('hosts', message.value.hosts, message.value.removedHostIds)
    this.#merge('vms', message.value.vms, message.value.removedVmIds)
    this.#merge('images', message.value.images, message.value.removedImageIds)
    this.#merge('tasks', message.value.tasks, message.value.removedTaskIds)
    this.#merge('ports', message.value.ports, message.value.removedPortIds)
    this.#measure(message.value)
    this.#known = { ...this.#known, revision }
    return true
  }

  #list(list: keyof Rows): RowList<{ id: string }> {
    const known: ById<{ id: string }> = this.#known[list]
    return known instanceof RowList ? known : new RowList([...known.values()])
  }

  #changesOf(list: keyof Rows): Changes<{ id: string }> {
    const known = this.#changes.get(list)
    if (known) return known
    const made: Changes<{ id: string }> = new Map()
    this.#changes.set(list, made)
    return made
  }

  #merge(list: keyof Rows, upserts: readonly { id: string }[], removed: readonly string[]): void {
    if (upserts.length === 0 && removed.length === 0) return
    const changes = this.#changesOf(list)
    for (const id of removed) changes.set(id, undefined)
    for (const row of upserts) changes.set(row.id, row)
  }

  #measure({ vmMetrics, vmClocks }: FleetDelta): void {
    if (vmMetrics.length === 0 && vmClocks.length === 0) return
    const changes = this.#changesOf('vms') as Changes<Vm>
    const change = (id: string, edit: (vm: Vm) => Vm) => {
      const vm = changes.has(id) ? changes.get(id) : this.#known.vms.get(id)
      if (vm) changes.set(id, edit(vm))
    }
    for (const { vmId, metrics } of vmMetrics)
      change(vmId, ({ metrics: _, ...rest }) => (metrics ? { ...rest, metrics } : rest))
    for (const { vmId, clock } of vmClocks) change(vmId, ({ clock: _, ...rest }) => (clock ? { ...rest, clock } : rest))
  }
}

function wholeState(state: FleetState): Rows {
  return {
    hosts: new RowList(state.hosts),
    vms: new RowList(state.vms),
    images: new RowList(state.images),
    tasks: new RowList(state.tasks),
    ports: new RowList(state.ports),
  }
}

/** A VM an answer brought before the stream did, so that its page is there at once; what the stream told stands. */
export function knowVm(store: FleetStore, vm: Vm): void {
  const { vms } = store.getState()
  if (!vms.has(vm.id)) store.setState({ vms: new RowList([...vms.values(), vm]) })
}

export const createFleetStore = () => createStore<FleetSnapshot>(() => EMPTY_FLEET)
export type FleetStore = ReturnType<typeof createFleetStore>

/** The one fleet of this window, fed by `runFleetFeed`. */
export const fleetStore = createFleetStore()
