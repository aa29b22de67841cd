import type { PlacedRow } from './row-order.ts'

/** One line of a table: a row, and where it stands in a tree. */
export interface Line<T> {
  id: string
  row: T
  /** 1 = top; absent where the table is no tree. */
  level?: number
  /** Absent = nothing is under it. */
  expanded?: boolean
}

/** Sorted rows as a tree, siblings in the order given; what is under a collapsed row is left out, and a row whose parent is not here is at the top. */
export function treeLines<T>(
  rows: readonly PlacedRow<T>[],
  parentOf: (row: T) => string | undefined,
  collapsed: ReadonlySet<string>,
): Line<T>[] {
  const ids = new Set(rows.map(({ id }) => id))
  const under = new Map<string | undefined, PlacedRow<T>[]>()
  for (const one of rows) {
    const said = parentOf(one.row)
    const parent = said !== undefined && said !== one.id && ids.has(said) ? said : undefined
    const siblings = under.get(parent)
    if (siblings) siblings.push(one)
    else under.set(parent, [one])
  }
  const lines: Line<T>[] = []
  const walk = (parent: string | undefined, level: number) => {
    for (const { id, row } of under.get(parent) ?? []) {
      const expanded = under.has(id) ? !collapsed.has(id) : undefined
      lines.push({ id, row, level, ...(expanded === undefined ? {} : { expanded }) })
      if (expanded) walk(id, level + 1)
    }
  }
  walk(undefined, 1)
  return lines
}

/** Where ← leads: the line this one is under; undefined at the top. */
export function parentIndex<T>(lines: readonly Line<T>[], index: number): number | undefined {
  const level = lines[index]?.level ?? 1
  for (let i = index - 1; i >= 0; i--) if ((lines[i]?.level ?? 1) < level) return i
  return undefined
}
