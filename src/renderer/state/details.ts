import { create } from 'zustand'
import type { FleetSnapshot } from './fleet-store.ts'
import type { ById } from './row-list.ts'

export const DETAILS_KINDS = ['host', 'vm', 'image', 'port', 'task'] as const
export type DetailsKind = (typeof DETAILS_KINDS)[number]

/** The object whose details stand in the right drawer. */
export interface Details {
  kind: DetailsKind
  id: string
}

export const useDetails = create<{ open: Details | undefined }>(() => ({ open: undefined }))

export const openDetails = (open: Details): void => useDetails.setState({ open })
export const closeDetails = (): void => useDetails.setState({ open: undefined })

export const toggleDetails = (next: Details): void => {
  const { open } = useDetails.getState()
  if (open?.id === next.id) closeDetails()
  else openDetails(next)
}

/** `kind:id` as an element says it in `data-details`, else the object of the fleet that has the id. */
export function detailsOf(said: string | undefined, rowId: string | undefined, fleet: FleetSnapshot) {
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/.exec(said ?? '') ?? []
  const known = DETAILS_KINDS.find((k) => k === kind)
  if (known) return { kind: known, id }
  if (rowId === undefined) return undefined
  const found = DETAILS_KINDS.find((k) => rowsOf(fleet, k).has(rowId))
  return found && { kind: found, id: rowId }
}

function rowsOf(fleet: FleetSnapshot, kind: DetailsKind): ById<unknown> {
  switch (kind) {
    case 'host':
      return fleet.hosts
    case 'vm':
      return fleet.vms
    case 'image':
      return fleet.images
    case 'port':
      return fleet.ports
    case 'task':
      return fleet.tasks
  }
}
