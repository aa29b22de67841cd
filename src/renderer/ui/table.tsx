import {
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  sortFn_alphanumeric,
  sortFn_basic,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useRef, useState } from 'react'
import { cx } from '../lib/class-names.ts'
import { usePreferences } from '../state/preferences.ts'
import { useKeys } from './keys.ts'

export interface TableColumn<T> {
  id: string
  header: string
  /** CSS width of the column; `auto` takes what is left. */
  width: string
  align?: 'right'
  /** Left out where the table is narrower than this. */
  from?: 'middle' | 'wide'
  /** Absent = the column does not sort. */
  sort?: (row: T) => string | number | undefined
  cell: (row: T) => ReactNode
}

export interface TableProps<T> {
  label: string
  rows: T[]
  columns: TableColumn<T>[]
  rowId: (row: T) => string
  onOpen: (row: T) => void
  /** A quieter look for rows that are not alive. */
  dimmed?: (row: T) => boolean
  initialSort: { id: string; desc: boolean }
  minWidth: number
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric, basic: sortFn_basic },
})
const FROM = { any: undefined, middle: '@max-[820px]:hidden', wide: '@max-[1240px]:hidden' }
const ROW_HEIGHT = { comfortable: 40, compact: 32 }

/** A sortable table with virtual rows: one tab stop, j/k and arrows move, Enter opens. */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { label, rows, columns, rowId, onOpen, initialSort, minWidth } = props
  const [sorting, setSorting] = useState<SortingState>([initialSort])
  const [active, setActive] = useState<string>()
  const scroller = useRef<HTMLDivElement>(null)
  const density = usePreferences((p) => p.density)

  const definitions = useMemo(() => {
    const helper = createColumnHelper<typeof features, T>()
    return helper.columns(
      columns.map((c) =>
        helper.accessor((row: T) => c.sort?.(row), {
          id: c.id,
          header: c.header,
          enableSorting: c.sort !== undefined,
          sortUndefined: 'last',
          sortFn: 'alphanumeric',
        }),
      ),
    )
  }, [columns])
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowId,
    state: { sorting },
    onSortingChange: setSorting,
  })
  const sorted = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT[density],
    getItemKey: (i) => sorted[i]?.id ?? i,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const before = items[0]?.start ?? 0
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0)

  const moveTo = useCallback(
    (index: number) => {
      const row = sorted[Math.max(0, Math.min(sorted.length - 1, index))]
      if (!row) return
      setActive(row.id)
      virtual.scrollToIndex(row.index === -1 ? 0 : sorted.indexOf(row))
      requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${row.id}"]`)?.focus())
    },
    [sorted, virtual],
  )
  const at = sorted.findIndex((r) => r.id === active)
  useKeys({
    j: () => moveTo(at + 1),
    k: () => moveTo(at === -1 ? 0 : at - 1),
  })
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.dataset['row'] === undefined) return
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: sorted.length - 1 }[event.key]
    if (target !== undefined) {
      event.preventDefault()
      moveTo(target)
    }
    const row = sorted[at]
    if (event.key === 'Enter' && row) onOpen(row.original)
    if (event.key === '.') event.target.querySelector<HTMLElement>('[data-row-menu]')?.click()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the rows inside bubble up to here
    <div ref={scroller} className="@container min-h-0 flex-1 overflow-auto" onKeyDown={onKeyDown}>
      <table
        aria-label={label}
        aria-rowcount={sorted.length + 1}
        className="w-full table-fixed border-separate border-spacing-0"
        style={{ minWidth }}
      >
        <colgroup>
          {columns.map((c) => (
            <col key={c.id} className={FROM[c.from ?? 'any']} style={{ width: c.width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((c) => (
              <HeadCell key={c.id} column={c} sorting={sorting[0]} onSort={setSorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr aria-hidden style={{ height: before }} />}
          {items.map((item) => {
            const row = sorted[item.index]
            if (!row) return null
            const isActive = row.id === active || (at === -1 && item.index === 0)
            return (
              <tr
                key={row.id}
                data-row={row.id}
                aria-rowindex={item.index + 2}
                tabIndex={isActive ? 0 : -1}
                onFocus={() => setActive(row.id)}
                onClick={(event) => {
                  const inner =
                    event.target instanceof Element && event.target.closest('a,button,input,[role=menuitem]')
                  if (!inner && getSelection()?.toString() === '') onOpen(row.original)
                }}
                className={cx(
                  'group h-[var(--row)] outline-none hover:bg-hover focus-visible:bg-hover',
                  'focus-visible:shadow-[inset_2px_0_0_var(--accent)]',
                  props.dimmed?.(row.original) && 'text-dim',
                )}
              >
                {columns.map((c) => (
                  <td
                    key={c.id}
                    className={cx(
                      'overflow-hidden text-ellipsis whitespace-nowrap border-line border-b px-3 first:pl-5 last:pr-5',
                      c.align === 'right' && 'text-right',
                      FROM[c.from ?? 'any'],
                    )}
                  >
                    {c.cell(row.original)}
                  </td>
                ))}
              </tr>
            )
          })}
          {after > 0 && <tr aria-hidden style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  )
}

function HeadCell<T>({
  column,
  sorting,
  onSort,
}: {
  column: TableColumn<T>
  sorting: { id: string; desc: boolean } | undefined
  onSort: (next: SortingState) => void
}) {
  const mine = sorting?.id === column.id ? sorting : undefined
  const Arrow = mine?.desc ? ChevronDown : ChevronUp
  return (
    <th
      scope="col"
      {...(mine ? { 'aria-sort': mine.desc ? ('descending' as const) : ('ascending' as const) } : {})}
      className={cx(
        'sticky top-0 z-10 h-8 border-line border-b bg-panel px-3 font-medium text-faint text-xs first:pl-5 last:pr-5',
        column.align === 'right' ? 'text-right' : 'text-left',
        FROM[column.from ?? 'any'],
      )}
    >
      {column.sort ? (
        <button
          type="button"
          onClick={() => onSort([{ id: column.id, desc: mine ? !mine.desc : false }])}
          className={cx(
            'inline-flex h-6 max-w-full items-center gap-1 rounded hover:text-ink',
            mine && 'text-ink',
            column.align === 'right' && 'flex-row-reverse',
          )}
        >
          <span className="truncate">{column.header}</span>
          <Arrow size={12} aria-hidden className={cx('shrink-0', !mine && 'invisible')} />
        </button>
      ) : (
        <span className={column.header === 'Actions' ? 'sr-only' : undefined}>{column.header}</span>
      )}
    </th>
  )
}
