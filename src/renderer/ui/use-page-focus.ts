import { useEffect, useRef } from 'react'
import type { Route } from '../routes.ts'

/** What makes a page another one: its kind and its object, not its filter or tab. */
export const pageKey = (route: Route): string => `${route.page} ${'id' in route ? route.id : ''}`

/** After a move the focus is in the new page: on the row that was left when it is a list, else on the page, unless it took it itself. */
export function usePageFocus(route: Route): void {
  const before = useRef(route)
  const key = pageKey(route)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a filter being typed is no move
  useEffect(() => {
    const left = before.current
    before.current = route
    if (pageKey(left) === key) return
    const frame = requestAnimationFrame(() => {
      if (document.activeElement !== document.body) return
      const row = 'id' in left ? document.querySelector<HTMLElement>(`main [data-row="${CSS.escape(left.id)}"]`) : null
      const page = document.querySelector<HTMLElement>('main')
      ;(row ?? page)?.focus({ preventScroll: row === null })
    })
    return () => cancelAnimationFrame(frame)
  }, [key])
}
