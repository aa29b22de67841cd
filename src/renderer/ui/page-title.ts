import type { Route } from '../routes.ts'
import { useFleet } from '../state/use-fleet.ts'
import { AREA, PLACES } from './rail.tsx'

/** Name of the window: the object or the place first, so that it is read in a list of windows. */
export function usePageTitle(route: Route): string {
  const name = useFleet((f) => {
    if (route.page === 'vm') return f.vms.get(route.id)?.name
    return route.page === 'host' ? f.hosts.get(route.id)?.name : undefined
  })
  const place = PLACES.find(({ area }) => area === AREA[route.page])?.label
  return [name ?? place, 'Eitri'].filter(Boolean).join(' · ')
}
