type Ids = ReadonlySet<string>

export type Chosen = 'yes' | 'no' | 'some'

export function toggled(selected: Ids, id: string): Ids {
  const next = new Set(selected)
  if (!next.delete(id)) next.add(id)
  return next
}

/** Whether a row that stands for others is chosen: by them. */
export function chosenOf(selected: Ids, members: readonly string[]): Chosen {
  const count = members.reduce((sum, id) => sum + (selected.has(id) ? 1 : 0), 0)
  return count === 0 ? 'no' : count === members.length ? 'yes' : 'some'
}

/** All of them chosen, or none where all were. */
export function allToggled(selected: Ids, members: readonly string[]): Ids {
  const clear = chosenOf(selected, members) === 'yes'
  const next = new Set(selected)
  for (const id of members) {
    if (clear) next.delete(id)
    else next.add(id)
  }
  return next
}

/** All from the row chosen last to this one take the state that one has; without one only this is chosen. */
export function ranged(selected: Ids, order: readonly string[], last: string | undefined, id: string): Ids {
  const from = last === undefined ? -1 : order.indexOf(last)
  const to = order.indexOf(id)
  if (from === -1 || to === -1 || last === undefined) return toggled(selected, id)
  const on = selected.has(last)
  const next = new Set(selected)
  for (const one of order.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (on) next.add(one)
    else next.delete(one)
  }
  return next
}

export interface SelectionCount {
  chosen: number
  /** Chosen, but the filter hides them: acts take only what is seen. */
  hidden: number
  /** Seen and not chosen. */
  left: number
}

export function selectionCount(selected: Ids, shown: readonly string[]): SelectionCount {
  let chosen = 0
  for (const id of shown) if (selected.has(id)) chosen++
  return { chosen, hidden: selected.size - chosen, left: shown.length - chosen }
}
