import { ChevronDown, ChevronRight } from 'lucide-react'
import { type MouseEvent, memo, type ReactNode } from 'react'
import { cx } from '../lib/class-names.ts'
import type { Chosen } from '../lib/row-selection.ts'
import { ChooseBox } from './choose-box.tsx'
import type { TableColumn } from './table-types.ts'

/** What rows ask their table for; the same object for as long as the table is there. */
export interface RowActs {
  open: (id: string) => void
  activate: (id: string) => void
  /** `range`: from the row chosen last to this one. */
  choose: (id: string, range: boolean) => void
  fold: (id: string, collapsed: boolean) => void
}

interface RowProps<T> {
  id: string
  row: T
  index: number
  columns: TableColumn<T>[]
  acts: RowActs
  isActive: boolean
  isDimmed: boolean
  /** Absent = rows of this table are not chosen. */
  chosen?: Chosen
  level?: number
  expanded?: boolean
}

const INDENT_PX = 18

function isInside(event: MouseEvent): boolean {
  return event.target instanceof Element && event.target.closest('a,button,input,label,[role=menuitem]') !== null
}

function Row<T>(props: RowProps<T>) {
  const { id, row, index, columns, acts, isActive, isDimmed, chosen, level, expanded } = props
  const onClick = (event: MouseEvent) => {
    if (isInside(event)) return
    if (chosen !== undefined && (event.shiftKey || event.ctrlKey || event.metaKey)) {
      getSelection()?.removeAllRanges()
      acts.choose(id, event.shiftKey)
    } else if (getSelection()?.toString() === '') acts.open(id)
  }
  return (
    <tr
      data-row={id}
      aria-rowindex={index + 2}
      {...(chosen === undefined ? {} : { 'aria-selected': chosen === 'yes' })}
      {...(level === undefined ? {} : { 'aria-level': level })}
      {...(expanded === undefined ? {} : { 'aria-expanded': expanded })}
      tabIndex={isActive ? 0 : -1}
      onFocus={() => acts.activate(id)}
      onClick={onClick}
      className={cx(
        'group h-[var(--row)] outline-none hover:bg-hover focus-visible:bg-hover',
        'focus-visible:shadow-[inset_2px_0_0_var(--accent)]',
        chosen === 'yes' && 'bg-accent/8 hover:bg-accent/12',
        isDimmed && 'text-dim',
      )}
    >
      {chosen !== undefined && (
        <td className="border-line border-b pl-3">
          <ChooseBox label="Select this row" chosen={chosen} onChoose={(range) => acts.choose(id, range)} isInRow />
        </td>
      )}
      {columns.map((c, at) => (
        <td
          key={c.id}
          className={cx(
            'whitespace-nowrap border-line border-b px-3 last:pr-5',
            !c.fits && 'overflow-hidden text-ellipsis',
            chosen === undefined && 'first:pl-5',
            c.align === 'right' && 'text-right',
          )}
        >
          {level !== undefined && at === 0 ? (
            <Branch level={level} expanded={expanded} onFold={() => acts.fold(id, expanded === true)}>
              {c.cell(row)}
            </Branch>
          ) : (
            c.cell(row)
          )}
        </td>
      ))}
    </tr>
  )
}

/** Renders again only when its own row, place or look changed. */
export const TableRow = memo(Row) as typeof Row

function Branch({
  level,
  expanded,
  onFold,
  children,
}: {
  level: number
  expanded: boolean | undefined
  onFold: () => void
  children: ReactNode
}) {
  const Arrow = expanded ? ChevronDown : ChevronRight
  return (
    <span className="flex min-w-0 items-center gap-1" style={{ paddingLeft: (level - 1) * INDENT_PX }}>
      {expanded === undefined ? (
        <span className="w-6 shrink-0" />
      ) : (
        <button
          type="button"
          tabIndex={-1}
          aria-label={expanded ? 'Collapse' : 'Expand'}
          onClick={onFold}
          className="inline-flex size-6 shrink-0 items-center justify-center rounded text-dim hover:bg-hover hover:text-ink"
        >
          <Arrow size={14} aria-hidden />
        </button>
      )}
      <span className="min-w-0 flex-1">{children}</span>
    </span>
  )
}
