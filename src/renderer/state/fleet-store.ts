import { createStore } from 'zustand/vanilla'
import type { FaultData } from '../../ipc/faults.ts'
import type {
  FleetDelta,
  FleetState,
  VmClockChange,
  VmMetricsChange,
  WatchFleetResponse,
} from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
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

/** `gap`: a delta was missed, so the stream must be opened again. */
export type Applied = { kind: 'applied'; next: FleetSnapshot } | { kind: 'gap' }

/** One message of WatchFleet onto what is known. Rows a delta does not name keep their identity. */
export function applyFleetMessage(known: FleetSnapshot, response: WatchFleetResponse): Applied {
  const { revision, message } = response
  switch (message.case) {
    case 'state':
      return { kind: 'applied', next: { ...known, ...wholeState(message.value), revision } }
    case 'delta':
      if (known.revision === undefined || revision !== known.revision + 1n) return { kind: 'gap' }
      return { kind: 'applied', next: { ...known, ...mergeDelta(known, message.value), revision } }
    default:
      return { kind: 'applied', next: known }
  }
}

function wholeState(state: FleetState) {
  return {
    hosts: byId(state.hosts),
    vms: byId(state.vms),
    images: byId(state.images),
    tasks: byId(state.tasks),
    ports: byId(state.ports),
  }
}

function mergeDelta(known: FleetSnapshot, delta: FleetDelta) {
  return {
    hosts: merge(known.hosts, delta.hosts, delta.removedHostIds),
    vms: clocked(measured(merge(known.vms, delta.vms, delta.removedVmIds), delta.vmMetrics), delta.vmClocks),
    images: merge(known.images, delta.images, delta.removedImageIds),
    tasks: merge(known.tasks, delta.tasks, delta.removedTaskIds),
    ports: merge(known.ports, delta.ports, delta.removedPortIds),
  }
}

const byId = <T extends { id: string }>(rows: readonly T[]): ById<T> => new Map(rows.map((row) => [row.id, row]))

function merge<T extends { id: string }>(known: ById<T>, upserts: readonly T[], removed: readonly string[]): ById<T> {
  if (upserts.length === 0 && removed.length === 0) return known
  const next = new Map(known)
  for (const id of removed) next.delete(id)
  for (const row of upserts) next.set(row.id, row)
  return next
}

function measured(vms: ById<Vm>, changes: readonly VmMetricsChange[]): ById<Vm> {
  if (changes.length === 0) return vms
  const next = new Map(vms)
  for (const { vmId, metrics } of changes) {
    const vm = next.get(vmId)
    if (!vm) continue
    const { metrics: _, ...rest } = vm
    next.set(vmId, metrics ? { ...rest, metrics } : rest)
  }
  return next
}

function clocked(vms: ById<Vm>, changes: readonly VmClockChange[]): ById<Vm> {
  if (changes.length === 0) return vms
  const next = new Map(vms)
  for (const { vmId, clock } of changes) {
    const vm = next.get(vmId)
    if (!vm) continue
    const { clock: _, ...rest } = vm
    next.set(vmId, clock ? { ...rest, clock } : rest)
  }
  return next
}

/** A VM an answer brought before the stream did, so that its page is there at once; what the stream told stands. */
export function knowVm(store: FleetStore, vm: Vm): void {
  const { vms } = store.getState()
  if (!vms.has(vm.id)) store.setState({ vms: new Map(vms).set(vm.id, vm) })
}

export const createFleetStore = () => createStore<FleetSnapshot>(() => EMPTY_FLEET)
export type FleetStore = ReturnType<typeof createFleetStore>

/** The one fleet of this window, fed by `runFleetFeed`. */
export const fleetStore = createFleetStore()
