import { type RefObject, useLayoutEffect, useState } from 'react'

/** How many of the widths, smallest first, an element has room for; known before the first paint. */
export function useRoom(element: RefObject<HTMLElement | null>, widths: readonly number[]): number {
  const [room, setRoom] = useState(0)
  useLayoutEffect(() => {
    const one = element.current
    if (!one) return
    const measure = () => setRoom(widths.filter((px) => one.clientWidth >= px).length)
    measure()
    const watch = new ResizeObserver(measure)
    watch.observe(one)
    return () => watch.disconnect()
  }, [element, widths])
  return room
}
