import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { useInfiniteQuery } from '@tanstack/react-query'
import { api } from '../../api/transport.ts'
import { fleetStore } from '../../state/fleet-store.ts'
import { useFleet } from '../../state/use-fleet.ts'
import type { TrailFilter } from './audit-query.ts'
import type { Names } from './entries.ts'

const PAGE = 200
/** Read into this window at most; what is older is for an export. */
export const MAX_PAGES = 50
const AGAIN_MS = 10_000

/** As the API takes it. */
export const trailRequest = ({ vm, host, action, requestId, result, sinceMs }: TrailFilter) => ({
  ...{ vm, host, action, requestId, result },
  ...(sinceMs === undefined ? {} : { since: timestampFromMs(sinceMs) }),
})

/** The trail from its newest entry back, page by page; looked at again by itself while only the first is shown. */
export function useTrail(trail: TrailFilter) {
  const live = useFleet((f) => f.feed.state === 'live')
  return useInfiniteQuery({
    // Minutes are enough for a key: `since:2h` moves all the time.
    queryKey: ['trail', { ...trail, sinceMs: trail.sinceMs && Math.floor(trail.sinceMs / 60_000) }],
    queryFn: ({ pageParam, signal }) =>
      api.audit.listAudit({ ...trailRequest(trail), limit: PAGE, beforeId: pageParam }, { signal }),
    initialPageParam: '',
    getNextPageParam: (last, pages) =>
      last.nextBeforeId === '' || pages.length >= MAX_PAGES ? undefined : last.nextBeforeId,
    refetchInterval: (query) => (live && (query.state.data?.pages.length ?? 0) <= 1 ? AGAIN_MS : false),
    refetchOnWindowFocus: false,
  })
}

/** Names as they are when they are asked for: a list of what was done need not move with every report. */
export const NAMES: Names = {
  vm: (id) => fleetStore.getState().vms.get(id)?.name,
  host: (id) => fleetStore.getState().hosts.get(id)?.name,
}
