import { parseRoute, type Route } from '../routes.ts'
import { keep, readKept } from './kept.ts'

const KEY = 'eitri.place'
const MAX_HASH = 2000

/** Whether an address is worth coming back to: not the token of a sign-in, not home. */
export const isPlace = (hash: string): boolean => hash.startsWith('#/') && hash.length > 2 && hash.length <= MAX_HASH

/** Opens where this window was left, filter and all, unless an address says otherwise; then remembers every move. */
export function keepPlace(): void {
  const last = readKept(KEY) ?? ''
  if (location.hash === '' && isPlace(last)) history.replaceState(null, '', last)
  noteList(location.hash)
  addEventListener('hashchange', () => {
    noteList(location.hash)
    if (isPlace(location.hash) || location.hash === '#/') keep(KEY, location.hash)
  })
}

const lists = new Map<'vms' | 'hosts', string>()

/** Remembers the filter of a list while its rows are looked at. */
function noteList(hash: string): void {
  const route = parseRoute(hash)
  if (route.page === 'vms' || route.page === 'hosts') lists.set(route.page, route.filter)
}

/** The list a VM or host was opened from, with the filter it had. */
export const listBefore = (page: 'vms' | 'hosts'): Route => ({ page, filter: lists.get(page) ?? '' })
