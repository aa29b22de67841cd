import { keep, readKept } from './kept.ts'

const KEY = 'eitri.place'
const MAX_HASH = 2000

/** Whether an address is worth coming back to: not the token of a sign-in, not home. */
export const isPlace = (hash: string): boolean => hash.startsWith('#/') && hash.length > 2 && hash.length <= MAX_HASH

/** Opens where this window was left, filter and all, unless an address says otherwise; then remembers every move. */
export function keepPlace(): void {
  const last = readKept(KEY) ?? ''
  if (location.hash === '' && isPlace(last)) history.replaceState(null, '', last)
  addEventListener('hashchange', () => {
    if (isPlace(location.hash) || location.hash === '#/') keep(KEY, location.hash)
  })
}
