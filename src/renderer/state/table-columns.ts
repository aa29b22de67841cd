import { create } from 'zustand'
import { keep, readKept } from './kept.ts'

/** What a person made of a table's columns. */
export interface ColumnChoice {
  hidden: readonly string[]
  /** Ids in the order shown; columns it does not name come where the table has them. */
  order: readonly string[]
}

const KEY = 'eitri.columns'
const NOTHING: ColumnChoice = { hidden: [], order: [] }

/** More tables or columns than this are none of ours. */
const MAX_TABLES = 50
const MAX_COLUMNS = 100

const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const idsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : []).slice(0, MAX_COLUMNS)

/** What was kept, whatever wrote it: what is no choice is left out, the rest stands. */
export function readColumns(stored: string | null): Record<string, ColumnChoice> {
  const tables = Object.entries(object(parsed(stored))).slice(0, MAX_TABLES)
  return Object.fromEntries(
    tables.map(([table, kept]) => {
      const { hidden, order } = object(kept)
      return [table, { hidden: idsOf(hidden), order: idsOf(order) }]
    }),
  )
}

function parsed(stored: string | null): unknown {
  try {
    return JSON.parse(stored ?? '{}')
  } catch {
    return undefined
  }
}

const useChoices = create<Record<string, ColumnChoice>>(() => readColumns(readKept(KEY)))

export const useColumnChoice = (table: string): ColumnChoice => useChoices((all) => all[table]) ?? NOTHING

/** Undefined = as the table comes. */
export function chooseColumns(table: string, choice: ColumnChoice | undefined): void {
  const { [table]: _, ...rest } = useChoices.getState()
  const next = choice ? { ...rest, [table]: choice } : rest
  useChoices.setState(next, true)
  keep(KEY, JSON.stringify(next))
}

interface Column {
  id: string
  /** Can be neither hidden nor moved. */
  fixed?: boolean
}

/** All columns in the order chosen; fixed ones stay where the table has them. */
export function orderColumns<C extends Column>(columns: readonly C[], { order }: ColumnChoice): C[] {
  const movable = columns.filter((c) => !c.fixed)
  const place = (c: C) => {
    const at = order.indexOf(c.id)
    return at === -1 ? movable.indexOf(c) : at
  }
  const sorted = movable.slice().sort((a, b) => place(a) - place(b) || movable.indexOf(a) - movable.indexOf(b))
  return columns.map((c) => (c.fixed ? c : (sorted.shift() ?? c)))
}

export const shownColumns = <C extends Column>(columns: readonly C[], choice: ColumnChoice): C[] =>
  orderColumns(columns, choice).filter((c) => c.fixed || !choice.hidden.includes(c.id))

/** The choice after a column went one place on (`1`) or back (`-1`) among those that move. */
export function movedColumn(columns: readonly Column[], choice: ColumnChoice, id: string, by: 1 | -1): ColumnChoice {
  const order = orderColumns(columns, choice).flatMap((c) => (c.fixed ? [] : [c.id]))
  const from = order.indexOf(id)
  const to = from + by
  if (from === -1 || to < 0 || to >= order.length) return choice
  order.splice(from, 1)
  order.splice(to, 0, id)
  return { ...choice, order }
}
