import type { ReactNode } from 'react'

export interface TableColumn<T> {
  id: string
  header: string
  /** CSS width of the column; `auto` takes what is left. */
  width: string
  align?: 'right'
  /** Left out where the table is narrower than this. */
  from?: 'middle' | 'wide' | 'widest'
  /** Can be neither hidden nor moved. */
  fixed?: boolean
  /** Absent = the column does not sort. */
  sort?: (row: T) => string | number | undefined
  cell: (row: T) => ReactNode
  /** Its content cuts itself off or always has room: each box that clips costs every frame of a scrolled table. */
  fits?: boolean
}

export interface TableSelection<T> {
  selected: ReadonlySet<string>
  onSelect: (next: ReadonlySet<string>) => void
  /** Of a row that stands for others: ids of those. It is chosen when they are, and never counted itself. */
  membersOf?: (row: T) => readonly string[] | undefined
}

export interface TableProps<T> {
  label: string
  rows: readonly T[]
  columns: TableColumn<T>[]
  rowId: (row: T) => string
  onOpen: (row: T) => void
  /** A quieter look for rows that are not alive. */
  dimmed?: (row: T) => boolean
  initialSort: Sort
  minWidth: number
  /** Under this name the columns a person chose are kept; absent = they cannot be chosen. */
  name?: string
  /** A checkbox in front of each row; x, Shift+x, Ctrl/⌘+A. */
  selection?: TableSelection<T>
  /** Acts on the chosen rows that are seen, beside their count. */
  bulk?: (ids: string[]) => ReactNode
  /** A key pressed on a row: a single letter, or `' '`. True = it was for this table. */
  onKey?: (key: string, row: T) => boolean
  /** Rows under rows, by the id of the one above. */
  tree?: { parentOf: (row: T) => string | undefined }
  /** Stands where rows would when there are none: the table itself stays, and what it has made ready. */
  none?: ReactNode
  /** What is shown now (the filter): another one starts at the top again. */
  viewKey?: string
}

export interface Sort {
  id: string
  desc: boolean
}

/** How wide a table is, in CSS pixels, before it has room for such a column. */
export const ROOM_PX = [820, 1240, 1640]
export const FROM = { any: 0, middle: 1, wide: 2, widest: 3 }
