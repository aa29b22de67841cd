import { useStore } from 'zustand'
import { useShallow } from 'zustand/react/shallow'
import { type FleetSnapshot, fleetStore } from './fleet-store.ts'

export const useFleet = <T>(select: (fleet: FleetSnapshot) => T): T => useStore(fleetStore, select)

/** For selectors that build a new array or object each time: renders again only when its members changed. */
export const useFleetShallow = <T>(select: (fleet: FleetSnapshot) => T): T => useStore(fleetStore, useShallow(select))

export const useHost = (id: string) => useFleet((f) => f.hosts.get(id))
export const useVm = (id: string) => useFleet((f) => f.vms.get(id))
export const useTask = (id: string) => useFleet((f) => f.tasks.get(id))
export const useHosts = () => useFleetShallow((f) => [...f.hosts.values()])
export const useVms = () => useFleetShallow((f) => [...f.vms.values()])
export const useImages = () => useFleetShallow((f) => [...f.images.values()])
export const usePorts = () => useFleetShallow((f) => [...f.ports.values()])
export const useTasks = () => useFleetShallow((f) => [...f.tasks.values()])
