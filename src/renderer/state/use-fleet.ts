import { useStore } from 'zustand'
import { useShallow } from 'zustand/react/shallow'
import { createStore } from 'zustand/vanilla'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { RowCount } from '../lib/row-count.ts'
import { type FleetSnapshot, fleetStore } from './fleet-store.ts'
import type { ById } from './row-list.ts'

/** The fleet as screens see it: it stands still while the window is hidden, and catches up when it is shown. */
const seenFleet = createStore<FleetSnapshot>(() => fleetStore.getState())
const isHidden = () => typeof document !== 'undefined' && document.hidden
const catchUp = () => {
  if (!isHidden()) seenFleet.setState(fleetStore.getState(), true)
}
fleetStore.subscribe(catchUp)
if (typeof document !== 'undefined') document.addEventListener('visibilitychange', catchUp)

export const useFleet = <T>(select: (fleet: FleetSnapshot) => T): T => useStore(seenFleet, select)

/** For selectors that build a new array or object each time: renders again only when its members changed. */
export const useFleetShallow = <T>(select: (fleet: FleetSnapshot) => T): T => useStore(seenFleet, useShallow(select))

const listed = new WeakMap<object, readonly unknown[]>()

/** The rows as one array for everybody, made once per state of the list. */
export function rowsOf<T>(rows: ById<T>): T[] {
  const known = listed.get(rows)
  if (known) return known as T[]
  const made = [...rows.values()]
  listed.set(rows, made)
  return made
}

export const useHost = (id: string) => useFleet((f) => f.hosts.get(id))
export const useVm = (id: string) => useFleet((f) => f.vms.get(id))
export const useTask = (id: string) => useFleet((f) => f.tasks.get(id))
export const useHosts = () => useFleet((f) => rowsOf(f.hosts))
export const useVms = () => useFleet((f) => rowsOf(f.vms))
export const useImages = () => useFleet((f) => rowsOf(f.images))
export const usePorts = () => useFleet((f) => rowsOf(f.ports))
export const useTasks = () => useFleet((f) => rowsOf(f.tasks))

const counts = new WeakMap<object, unknown>()

function countOf<T>(rows: ById<T>, holds: (row: T) => boolean): number {
  const known = counts.get(holds)
  const count = known instanceof RowCount ? (known as RowCount<T>) : new RowCount(holds)
  if (!known) counts.set(holds, count)
  return count.update(rowsOf(rows))
}

/** How many VMs it holds for; renders again only when the number changes. `holds` is one function for the life of the app. */
export const useVmCount = (holds: (vm: Vm) => boolean) => useFleet((f) => countOf(f.vms, holds))
export const useHostCount = (holds: (host: Host) => boolean) => useFleet((f) => countOf(f.hosts, holds))
