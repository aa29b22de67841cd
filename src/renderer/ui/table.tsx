import { memo, type RefObject, useCallback, useMemo, useRef, useState } from 'react'
import { cx } from '../lib/class-names.ts'
import {
  allToggled,
  type Chosen,
  chosenOf,
  ranged,
  type SelectionCount,
  selectionCount,
  toggled,
} from '../lib/row-selection.ts'
import type { Line } from '../lib/row-tree.ts'
import { usePreferences } from '../state/preferences.ts'
import { shownColumns, useColumnChoice } from '../state/table-columns.ts'
import { SelectionBar } from './selection-bar.tsx'
import { TableHead } from './table-head.tsx'
import { type RowActs, TableRow } from './table-row.tsx'
import { FROM, ROOM_PX, type TableColumn, type TableProps, type TableSelection } from './table-types.ts'
import { useRoom } from './use-room.ts'
import { useRowWindow } from './use-row-window.ts'
import { useTableKeys } from './use-table-keys.ts'
import { useScrollAnchor, useTableLines } from './use-table-lines.ts'

export type { TableColumn } from './table-types.ts'

const ROW_HEIGHT = { comfortable: 40, compact: 32 }
const BOX_WIDTH = 40
const Head = memo(TableHead) as typeof TableHead
const Body = memo(Rows) as typeof Rows

/** A sortable table that renders only the rows seen; rows are chosen, folded and opened by pointer and by key. */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { label, rows, rowId, selection, bulk, tree } = props
  const scroller = useRef<HTMLDivElement>(null)
  const rowHeight = ROW_HEIGHT[usePreferences((p) => p.density)]
  const choice = useColumnChoice(props.name ?? '')
  const room = useRoom(scroller, ROOM_PX)
  const columns = useMemo(
    () => shownColumns(props.columns, choice).filter(({ from }) => FROM[from ?? 'any'] <= room),
    [props.columns, choice, room],
  )
  const [sort, setSort] = useState(props.initialSort)
  const [active, setActive] = useState<string>()
  const { lines, hold, setCollapsed } = useTableLines(props, sort, scroller)
  useScrollAnchor(scroller, lines, rowHeight, `${sort.id} ${sort.desc} ${props.viewKey ?? ''}`)

  const latest = useRef({ props, lines })
  latest.current = { props, lines }
  const lastChosen = useRef<string>(undefined)
  const acts = useMemo<RowActs>(() => {
    const rowOf = (id: string) => latest.current.lines.find((line) => line.id === id)?.row
    return {
      open: (id) => {
        const row = rowOf(id)
        if (row) latest.current.props.onOpen(row)
      },
      activate: setActive,
      choose: (id, range) => {
        const chosen = latest.current.props.selection
        if (!chosen) return
        const { selected, onSelect, membersOf } = chosen
        const row = rowOf(id)
        const members = row && membersOf?.(row)
        const ids = () => latest.current.lines.flatMap((line) => (membersOf?.(line.row) ? [] : [line.id]))
        if (members) onSelect(allToggled(selected, members))
        else onSelect(range ? ranged(selected, ids(), lastChosen.current, id) : toggled(selected, id))
        if (!range) lastChosen.current = id
      },
      fold: (id, collapsed) => setCollapsed((was) => (was.has(id) === collapsed ? was : toggled(was, id))),
    }
  }, [setCollapsed])
  const chooseAll = useCallback((on: boolean) => {
    const { selection: chosen, ...of } = latest.current.props
    chosen?.onSelect(new Set(on ? [...chosen.selected, ...countedIds(of.rows, of.rowId, chosen)] : []))
  }, [])

  const at = useMemo(() => (active === undefined ? -1 : lines.findIndex(({ id }) => id === active)), [lines, active])
  const isAnyChosen = selection !== undefined && selection.selected.size > 0
  const counted = useMemo(
    () => (isAnyChosen ? countedIds(rows, rowId, selection) : []),
    [isAnyChosen, selection, rows, rowId],
  )
  const count = isAnyChosen ? selectionCount(selection.selected, counted) : undefined
  const chosen: Chosen | undefined = selection && chosenOfAll(count)
  const onKeyDown = useTableKeys({
    ...{ scroller, lines, at, rowHeight, acts },
    ...{ canSelect: selection !== undefined, hasSelected: isAnyChosen },
    ...{ onSelectAll: chooseAll, onKey: props.onKey },
  })
  const headChoice = useMemo(
    () => (props.name === undefined ? undefined : { name: props.name, columns: props.columns }),
    [props.name, props.columns],
  )

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the rows inside bubble up to here */}
      <div
        ref={scroller}
        className={cx('min-h-0 overflow-auto [overflow-anchor:none]', (lines.length > 0 || !props.none) && 'flex-1')}
        onKeyDown={(event) => {
          hold.touch()
          onKeyDown(event)
        }}
        onPointerMove={hold.touch}
        onPointerLeave={hold.letGo}
      >
        <table
          role={tree ? 'treegrid' : 'grid'}
          aria-label={label}
          aria-rowcount={lines.length + 1}
          {...(selection ? { 'aria-multiselectable': true } : {})}
          className="w-full table-fixed border-separate border-spacing-0"
          style={{ minWidth: props.minWidth }}
        >
          <colgroup>
            {selection && <col style={{ width: BOX_WIDTH }} />}
            {columns.map((c) => (
              <col key={c.id} style={{ width: c.width }} />
            ))}
          </colgroup>
          <Head
            columns={columns}
            sort={sort}
            onSort={setSort}
            onChooseAll={chooseAll}
            {...(chosen ? { chosen } : {})}
            {...(headChoice ? { choice: headChoice } : {})}
          />
          <Body {...{ scroller, lines, at, rowHeight, columns, acts }} dimmed={props.dimmed} selection={selection} />
        </table>
      </div>
      {lines.length === 0 && props.none && <div className="min-h-0 flex-1 overflow-auto">{props.none}</div>}
      {count && (
        <SelectionBar count={count} onAll={() => chooseAll(true)} onClear={() => chooseAll(false)}>
          {bulk?.(counted.filter((id) => selection?.selected.has(id)))}
        </SelectionBar>
      )}
    </div>
  )
}

/** Ids of rows that are chosen by themselves. */
const countedIds = <T,>(rows: readonly T[], rowId: (row: T) => string, { membersOf }: TableSelection<T>): string[] =>
  membersOf ? rows.filter((row) => !membersOf(row)).map(rowId) : rows.map(rowId)

function chosenOfAll(count: SelectionCount | undefined): Chosen {
  if (count === undefined || count.chosen === 0) return 'no'
  return count.left === 0 ? 'yes' : 'some'
}

function chosenRow<T>(id: string, row: T, { selected, membersOf }: TableSelection<T>): Chosen {
  const members = membersOf?.(row)
  return members ? chosenOf(selected, members) : selected.has(id) ? 'yes' : 'no'
}

interface BodyProps<T> {
  scroller: RefObject<HTMLDivElement | null>
  lines: readonly Line<T>[]
  at: number
  rowHeight: number
  columns: TableColumn<T>[]
  acts: RowActs
  dimmed: ((row: T) => boolean) | undefined
  selection: TableSelection<T> | undefined
}

/** The rows seen, and the active one wherever it is: it has the focus, or an open menu. */
function Rows<T>({ scroller, lines, at, rowHeight, columns, acts, dimmed, selection }: BodyProps<T>) {
  const seen = useRowWindow(scroller, rowHeight)
  const end = Math.min(seen.end, lines.length)
  const start = Math.min(seen.start, end)
  const one = (index: number) => {
    const line = lines[index]
    if (!line) return null
    const { id, row, level, expanded } = line
    return (
      <TableRow
        key={id}
        {...{ id, row, index, columns, acts }}
        isActive={index === at || (at === -1 && index === 0)}
        isDimmed={dimmed?.(row) ?? false}
        {...(selection ? { chosen: chosenRow(id, row, selection) } : {})}
        {...(level === undefined ? {} : { level })}
        {...(expanded === undefined ? {} : { expanded })}
      />
    )
  }
  const gap = (name: string, size: number) =>
    size > 0 && <tr key={name} aria-hidden style={{ height: size * rowHeight }} />
  // One flat list, so that a row keeps its element when it goes out of sight and comes back.
  const isAbove = at !== -1 && at < start
  const isBelow = at >= end
  return (
    <tbody>
      {[
        ...(isAbove ? [gap('above', at), one(at)] : []),
        gap('before', isAbove ? start - at - 1 : start),
        ...lines.slice(start, end).map((_, i) => one(start + i)),
        gap('after', isBelow ? at - end : lines.length - end),
        ...(isBelow ? [one(at), gap('below', lines.length - at - 1)] : []),
      ]}
    </tbody>
  )
}
