import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef } from 'react'
import { type Line, parentIndex } from '../lib/row-tree.ts'
import { usePreferences } from '../state/preferences.ts'
import { defaultKeyOf } from './key-table.ts'
import { useKeys } from './keys.ts'
import type { RowActs } from './table-row.tsx'

/** Height of the head, which covers the rows under it. */
const HEAD_PX = 32

interface KeysOf<T> {
  scroller: RefObject<HTMLElement | null>
  lines: readonly Line<T>[]
  /** Where the active row is; -1 = none is. */
  at: number
  rowHeight: number
  acts: RowActs
  canSelect: boolean
  hasSelected: boolean
  onSelectAll: (on: boolean) => void
  onKey: ((key: string, row: T) => boolean) | undefined
}

/** Brings a row into sight and gives it the focus once it is rendered. */
function useMoveTo<T>({ scroller, lines, rowHeight, acts }: KeysOf<T>) {
  const wanted = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    if (wanted.current === undefined) return
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(wanted.current)}"]`)
    wanted.current = undefined
    row?.focus({ preventScroll: true })
  })
  return (index: number) => {
    const element = scroller.current
    const to = Math.max(0, Math.min(lines.length - 1, index))
    const line = lines[to]
    if (!line || !element) return
    const top = to * rowHeight
    const room = element.clientHeight - HEAD_PX
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room
    wanted.current = line.id
    acts.activate(line.id)
    // Already active: nothing renders, so the focus is given here.
    element.querySelector<HTMLElement>(`[data-row="${CSS.escape(line.id)}"]`)?.focus({ preventScroll: true })
  }
}

/** The shipped key of what was pressed: a person may have put another in its place. */
const meant = (event: KeyboardEvent): string | undefined => defaultKeyOf(event.key.toLowerCase())

const isOnRow = (target: EventTarget): target is HTMLElement =>
  target instanceof HTMLElement && (target.dataset['row'] !== undefined || target.matches('[data-row] [type=checkbox]'))

/** A menu opens by a key or by what points, and not by a click. */
function openMenu(row: HTMLElement): void {
  const opens = new window.KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true })
  row.querySelector('[data-row-menu]')?.dispatchEvent(opens)
}

/** Keys of the rows: one tab stop, j/k and arrows move, Enter opens, x chooses, ← → fold a tree. */
export function useTableKeys<T>(of: KeysOf<T>) {
  const { lines, at, acts, canSelect, onSelectAll, onKey } = of
  const moveTo = useMoveTo(of)
  useKeys({ j: () => moveTo(at + 1), k: () => moveTo(at === -1 ? 0 : at - 1) })
  const page = Math.max(1, Math.floor(((of.scroller.current?.clientHeight ?? 0) - HEAD_PX) / of.rowHeight) - 1)

  const fold = (line: Line<T>, collapsed: boolean): void => {
    if (line.expanded === !collapsed) acts.fold(line.id, collapsed)
    else if (collapsed) moveTo(parentIndex(lines, at) ?? at)
    else if (line.expanded) moveTo(at + 1)
  }
  const chosenBy = (event: KeyboardEvent, line: Line<T>): boolean => {
    if (!canSelect) return false
    const mod = event.ctrlKey || event.metaKey
    if (mod && event.key.toLowerCase() === 'a') onSelectAll(true)
    else if (event.key === 'Escape' && of.hasSelected) onSelectAll(false)
    else if (!mod && meant(event) === 'x' && usePreferences.getState().singleKeys) acts.choose(line.id, event.shiftKey)
    else return false
    return true
  }
  const movedBy = (event: KeyboardEvent, line: Line<T>): boolean => {
    const target = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: lines.length - 1,
      PageDown: at + page,
      PageUp: at - page,
    }[event.key]
    if (target !== undefined) moveTo(target)
    else if (line.level !== undefined && event.key === 'ArrowLeft') fold(line, true)
    else if (line.level !== undefined && event.key === 'ArrowRight') fold(line, false)
    else return false
    return true
  }
  const toldBy = (event: KeyboardEvent, line: Line<T>): boolean => {
    const isLetter = event.key.length === 1 && event.key !== ' '
    if (event.ctrlKey || event.metaKey || event.altKey) return false
    if (isLetter && !usePreferences.getState().singleKeys) return false
    const key = meant(event)
    return event.key.length === 1 && key !== undefined && onKey?.(key, line.row) === true
  }
  return (event: KeyboardEvent): void => {
    const line = lines[at]
    if (!line || !isOnRow(event.target)) return
    const onBox = event.target.dataset['row'] === undefined
    if (event.key === 'Enter') acts.open(line.id)
    else if (meant(event) === '.' && !onBox) openMenu(event.target)
    else if (!movedBy(event, line) && !chosenBy(event, line) && !(!onBox && toldBy(event, line))) return
    event.preventDefault()
  }
}
