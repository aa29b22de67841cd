import { ChevronDown, ChevronUp } from 'lucide-react'
import { cx } from '../lib/class-names.ts'
import type { Chosen } from '../lib/row-selection.ts'
import { ChooseBox } from './choose-box.tsx'
import { ColumnsMenu } from './columns-menu.tsx'
import type { Sort, TableColumn } from './table-types.ts'

interface HeadProps<T> {
  /** Those shown. */
  columns: TableColumn<T>[]
  sort: Sort
  onSort: (next: Sort) => void
  /** Absent = rows are not chosen. */
  chosen?: Chosen
  onChooseAll: (on: boolean) => void
  /** All there are, and the name their choice is kept under. */
  choice?: { name: string; columns: TableColumn<T>[] }
}

const CELL = 'sticky top-0 z-10 h-8 border-line border-b bg-panel font-medium text-faint text-xs'

export function TableHead<T>({ columns, sort, onSort, chosen, onChooseAll, choice }: HeadProps<T>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {chosen !== undefined && (
          <th scope="col" className={cx(CELL, 'pl-3 text-left')}>
            <ChooseBox label="Select all rows" chosen={chosen} onChoose={() => onChooseAll(chosen !== 'yes')} />
          </th>
        )}
        {columns.map((c, at) => (
          <HeadCell key={c.id} column={c} sort={sort} onSort={onSort} isFirst={at === 0 && chosen === undefined}>
            {choice && at === columns.length - 1 && <ColumnsMenu {...choice} />}
          </HeadCell>
        ))}
      </tr>
    </thead>
  )
}

function HeadCell<T>({
  column,
  sort,
  onSort,
  isFirst,
  children,
}: {
  column: TableColumn<T>
  sort: Sort
  onSort: (next: Sort) => void
  isFirst: boolean
  children: React.ReactNode
}) {
  const mine = sort.id === column.id ? sort : undefined
  const Arrow = mine?.desc ? ChevronDown : ChevronUp
  return (
    <th
      scope="col"
      {...(mine ? { 'aria-sort': mine.desc ? ('descending' as const) : ('ascending' as const) } : {})}
      className={cx(
        CELL,
        'px-3 last:pr-5',
        isFirst && 'first:pl-5',
        column.align === 'right' ? 'text-right' : 'text-left',
      )}
    >
      <span className={cx('flex items-center gap-1', column.align === 'right' && 'justify-end')}>
        {column.sort ? (
          <button
            type="button"
            onClick={() => onSort({ id: column.id, desc: mine ? !mine.desc : false })}
            className={cx(
              'inline-flex h-6 min-w-0 items-center gap-1 rounded hover:text-ink',
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
        {children}
      </span>
    </th>
  )
}
