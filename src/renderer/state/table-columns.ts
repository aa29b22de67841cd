import { create } from 'zustand'

/** What a person made of a table's columns. */
export interface ColumnChoice {
  hidden: readonly string[]
  /** Ids in the order shown; columns it does not name come where the table has them. */
  order: readonly string[]
}

const KEY = 'eitri.columns'
const NOTHING: ColumnChoice = { hidden: [], order: [] }

function read(): Record<string, ColumnChoice> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, ColumnChoice>
  } catch {
    return {}
  }
}

const useChoices = create<Record<string, ColumnChoice>>(read)

export const useColumnChoice = (table: string): ColumnChoice => useChoices((all) => all[table]) ?? NOTHING

/** Undefined = as the table comes. */
export function chooseColumns(table: string, choice: ColumnChoice | undefined): void {
  const { [table]: _, ...rest } = useChoices.getState()
  const next = choice ? { ...rest, [table]: choice } : rest
  useChoices.setState(next, true)
  localStorage.setItem(KEY, JSON.stringify(next))
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
