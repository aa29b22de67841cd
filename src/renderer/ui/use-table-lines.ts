import { type RefObject, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'react'
import { type PlacedRow, RowOrder } from '../lib/row-order.ts'
import { type Line, treeLines } from '../lib/row-tree.ts'
import { useWhenIdle } from '../state/use-when-idle.ts'
import type { Sort, TableColumn, TableProps } from './table-types.ts'

/** How long after the last touch of a pointer or key rows stay where they are although their order changed. */
const HOLD_MS = 8000

interface Hold {
  isHeld: () => boolean
  touch: () => void
  letGo: () => void
}

/** Rows do not move under a pointer, nor while a menu of theirs is open. */
export function useHold(scroller: RefObject<HTMLElement | null>, onFree: () => void): Hold {
  const until = useRef(0)
  const free = useRef(onFree)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    free.current = onFree
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  return useMemo(() => {
    const menuIsOpen = () => scroller.current?.querySelector('[aria-haspopup=menu][data-state=open]') != null
    const wait = () => {
      clearTimeout(timer.current)
      timer.current = setTimeout(() => (menuIsOpen() ? wait() : free.current()), HOLD_MS)
    }
    return {
      isHeld: () => performance.now() < until.current || menuIsOpen(),
      touch: () => {
        const now = performance.now()
        // A pointer tells of itself many times a second; the timer need not be set anew each time.
        if (until.current - now < HOLD_MS - 250) wait()
        until.current = now + HOLD_MS
      },
      letGo: () => {
        if (menuIsOpen()) return
        until.current = 0
        clearTimeout(timer.current)
        free.current()
      },
    }
  }, [scroller])
}

/** Rows as lines: sorted, in a tree where the table is one, and held still while someone points at them. */
export function useTableLines<T extends object>(
  { rows, columns, rowId, tree }: Pick<TableProps<T>, 'rows' | 'columns' | 'rowId' | 'tree'>,
  sort: Sort,
  scroller: RefObject<HTMLElement | null>,
) {
  const [order] = useState(() => new RowOrder(rowId))
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const [, again] = useReducer((n: number) => n + 1, 0)
  const hold = useHold(scroller, () => order.isLate && again())
  const column = columns.find((c) => c.id === sort.id)
  const placed: readonly PlacedRow<T>[] = order.update(
    rows,
    { ...sort, key: (row) => column?.sort?.(row) },
    hold.isHeld(),
  )
  useReadyKeys(order, rows, columns)
  const parentOf = tree?.parentOf
  const lines: readonly Line<T>[] = useMemo(
    () => (parentOf ? treeLines(placed, parentOf, collapsed) : placed),
    [placed, parentOf, collapsed],
  )
  return { lines, hold, setCollapsed }
}

/** Tables up to this long are sorted at once in any case. */
const MANY = 500

/** What other columns sort by is made ready while nothing else is to be done. */
function useReadyKeys<T extends object>(order: RowOrder<T>, rows: readonly T[], columns: readonly TableColumn<T>[]) {
  const prepare = useMemo(() => {
    const sortable = columns.flatMap(({ id, sort }) => (sort ? [{ id, key: sort }] : []))
    return (row: T) => {
      for (const by of sortable) order.keyOf(row, by)
    }
  }, [order, columns])
  useWhenIdle(rows, MANY, prepare)
}

/** Keeps the first row seen where it is while rows come and go above it. */
export function useScrollAnchor<T>(
  scroller: RefObject<HTMLElement | null>,
  lines: readonly Line<T>[],
  rowHeight: number,
  view: string,
): void {
  const anchor = useRef<{ id: string; index: number } | undefined>(undefined)
  const shown = useRef(view)
  /** As of the last scroll: asking the element after a change of rows would lay them out once more. */
  const top = useRef(0)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const was = anchor.current
    if (view !== shown.current) {
      if (top.current > 0) element.scrollTop = 0
      top.current = 0
    } else if (was && top.current > 0 && lines[was.index]?.id !== was.id) {
      const now = lines.findIndex(({ id }) => id === was.id)
      if (now !== -1) top.current = element.scrollTop += (now - was.index) * rowHeight
    }
    shown.current = view
    const remember = () => {
      const index = Math.floor(top.current / rowHeight)
      const id = lines[index]?.id
      anchor.current = id === undefined ? undefined : { id, index }
    }
    const onScroll = () => {
      top.current = element.scrollTop
      remember()
    }
    remember()
    // Ahead of the listener that renders rows: asked after it, the place would cost a layout of its own.
    element.addEventListener('scroll', onScroll, { passive: true, capture: true })
    return () => element.removeEventListener('scroll', onScroll, { capture: true })
  }, [scroller, lines, rowHeight, view])
}
