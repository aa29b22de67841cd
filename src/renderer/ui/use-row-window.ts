import { type RefObject, useCallback, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'

/** Rows rendered before and after those seen, and how far one scrolls before others are. */
const AROUND = 5
const STEP = 3

export interface RowWindow {
  start: number
  end: number
}

/** Which rows of a scrolled table are rendered. */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, rowHeight: number): RowWindow {
  const [seen, setSeen] = useState<RowWindow>({ start: 0, end: AROUND * STEP })
  const measure = useCallback(() => {
    const element = scroller.current
    if (!element) return
    const first = Math.floor(element.scrollTop / rowHeight)
    const start = Math.max(0, Math.floor((first - AROUND) / STEP) * STEP)
    const end = Math.ceil((first + element.clientHeight / rowHeight + AROUND) / STEP) * STEP
    setSeen((was) => (was.start === start && was.end === end ? was : { start, end }))
  }, [scroller, rowHeight])
  // Not a layout effect: the rows are within the element scrolled, which is not there yet when theirs run.
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    measure()
    // The rows scrolled to stand there in the same frame.
    const onScroll = () => flushSync(measure)
    element.addEventListener('scroll', onScroll, { passive: true })
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    return () => {
      element.removeEventListener('scroll', onScroll)
      watch.disconnect()
    }
  }, [scroller, measure])
  return seen
}
