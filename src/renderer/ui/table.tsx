import { useCallback, useMemo, useRef, useState } from 'react'
import { allToggled, type Chosen, chosenOf, ranged, selectionCount, toggled } from '../lib/row-selection.ts'
import type { Line } from '../lib/row-tree.ts'
import { usePreferences } from '../state/preferences.ts'
import { shownColumns, useColumnChoice } from '../state/table-columns.ts'
import { SelectionBar } from './selection-bar.tsx'
import { TableHead } from './table-head.tsx'
import { type RowActs, TableRow } from './table-row.tsx'
import { FROM, type TableColumn, type TableProps, type TableSelection } from './table-types.ts'
import { type RowWindow, useRowWindow } from './use-row-window.ts'
import { useTableKeys } from './use-table-keys.ts'
import { useScrollAnchor, useTableLines } from './use-table-lines.ts'

export type { TableColumn } from './table-types.ts'

const ROW_HEIGHT = { comfortable: 40, compact: 32 }
const BOX_WIDTH = 40

/** A sortable table that renders only the rows seen; rows are chosen, folded and opened by pointer and by key. */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { label, rows, rowId, selection, bulk, tree } = props
  const scroller = useRef<HTMLDivElement>(null)
  const rowHeight = ROW_HEIGHT[usePreferences((p) => p.density)]
  const choice = useColumnChoice(props.name ?? '')
  const columns = useMemo(() => shownColumns(props.columns, choice), [props.columns, choice])
  const [sort, setSort] = useState(props.initialSort)
  const [active, setActive] = useState<string>()
  const { lines, hold, setCollapsed } = useTableLines(props, sort, scroller)
  const seen = useRowWindow(scroller, rowHeight)
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

  const at = useMemo(() => lines.findIndex(({ id }) => id === active), [lines, active])
  const onKeyDown = useTableKeys({
    ...{ scroller, lines, at, rowHeight, acts },
    ...{ canSelect: selection !== undefined, hasSelected: (selection?.selected.size ?? 0) > 0 },
    ...{ onSelectAll: chooseAll, onKey: props.onKey },
  })
  const counted = useMemo(() => (selection ? countedIds(rows, rowId, selection) : []), [selection, rows, rowId])
  const count = selection && selectionCount(selection.selected, counted)
  const chosen: Chosen | undefined = count && (count.chosen === 0 ? 'no' : count.left === 0 ? 'yes' : 'some')

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the rows inside bubble up to here */}
      <div
        ref={scroller}
        className="@container min-h-0 flex-1 overflow-auto [overflow-anchor:none]"
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
              <col key={c.id} className={FROM[c.from ?? 'any']} style={{ width: c.width }} />
            ))}
          </colgroup>
          <TableHead
            columns={columns}
            sort={sort}
            onSort={setSort}
            onChooseAll={chooseAll}
            {...(chosen ? { chosen } : {})}
            {...(props.name === undefined ? {} : { choice: { name: props.name, columns: props.columns } })}
          />
          <Body {...{ lines, seen, at, rowHeight, columns, acts, props }} />
        </table>
      </div>
      {count && selection && selection.selected.size > 0 && (
        <SelectionBar count={count} onAll={() => chooseAll(true)} onClear={() => chooseAll(false)}>
          {bulk?.(counted.filter((id) => selection.selected.has(id)))}
        </SelectionBar>
      )}
    </div>
  )
}

/** Ids of rows that are chosen by themselves. */
const countedIds = <T,>(rows: readonly T[], rowId: (row: T) => string, { membersOf }: TableSelection<T>): string[] =>
  membersOf ? rows.filter((row) => !membersOf(row)).map(rowId) : rows.map(rowId)

function chosenRow<T>(id: string, row: T, { selected, membersOf }: TableSelection<T>): Chosen {
  const members = membersOf?.(row)
  return members ? chosenOf(selected, members) : selected.has(id) ? 'yes' : 'no'
}

interface BodyProps<T> {
  lines: readonly Line<T>[]
  seen: RowWindow
  at: number
  rowHeight: number
  columns: TableColumn<T>[]
  acts: RowActs
  props: Pick<TableProps<T>, 'selection' | 'dimmed'>
}

/** The rows seen, and the active one wherever it is: it has the focus, or an open menu. */
function Body<T>({ lines, seen, at, rowHeight, columns, acts, props }: BodyProps<T>) {
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
        isDimmed={props.dimmed?.(row) ?? false}
        {...(props.selection ? { chosen: chosenRow(id, row, props.selection) } : {})}
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
