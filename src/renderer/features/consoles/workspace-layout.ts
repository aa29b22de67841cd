/** What a pane shows. Nothing yet = it asks for a VM. */
export type PaneTarget =
  | { kind: 'console'; vmId: string }
  | { kind: 'shell'; on: 'vm' | 'host'; id: string; login: string }

export interface Leaf {
  pane: string
  target: PaneTarget | null
}

export interface Split {
  /** Where the second part stands. */
  to: 'right' | 'down'
  /** Share of the first part, 0 to 1. */
  at: number
  first: Layout
  second: Layout
}

export type Layout = Leaf | Split

export interface Tab {
  id: string
  layout: Layout
  /** The pane that has the focus, or had it last. */
  active: string
}

/** Most panes of one workspace: as many consoles as one window may have open. */
export const MAX_PANES = 64
/** Panes that one tab gets when many are opened at once. */
const GRID_PANES = 9
export const SPLIT_LEAST = 0.1

const isLeaf = (layout: Layout): layout is Leaf => 'pane' in layout

export const leaves = (layout: Layout): Leaf[] =>
  isLeaf(layout) ? [layout] : [...leaves(layout.first), ...leaves(layout.second)]

export const sameTarget = (a: PaneTarget | null, b: PaneTarget | null): boolean =>
  a !== null &&
  b !== null &&
  ((a.kind === 'console' && b.kind === 'console' && a.vmId === b.vmId) ||
    (a.kind === 'shell' && b.kind === 'shell' && a.on === b.on && a.id === b.id && a.login === b.login))

/** The layout with one leaf changed. */
export function withLeaf(layout: Layout, pane: string, change: (leaf: Leaf) => Layout): Layout {
  if (isLeaf(layout)) return layout.pane === pane ? change(layout) : layout
  const first = withLeaf(layout.first, pane, change)
  const second = withLeaf(layout.second, pane, change)
  return first === layout.first && second === layout.second ? layout : { ...layout, first, second }
}

export const splitPane = (layout: Layout, pane: string, to: Split['to'], fresh: Leaf): Layout =>
  withLeaf(layout, pane, (leaf) => ({ to, at: 0.5, first: leaf, second: fresh }))

/** Without the pane; its neighbour takes the place. Undefined = it was the last. */
export function withoutPane(layout: Layout, pane: string): Layout | undefined {
  if (isLeaf(layout)) return layout.pane === pane ? undefined : layout
  const first = withoutPane(layout.first, pane)
  const second = withoutPane(layout.second, pane)
  if (!first || !second) return first ?? second
  return first === layout.first && second === layout.second ? layout : { ...layout, first, second }
}

/** A splitter moved: `path` leads to the split, f = first part, s = second. */
export function resized(layout: Layout, path: string, at: number): Layout {
  if (isLeaf(layout)) return layout
  if (path === '') return { ...layout, at: Math.min(1 - SPLIT_LEAST, Math.max(SPLIT_LEAST, at)) }
  return path.startsWith('f')
    ? { ...layout, first: resized(layout.first, path.slice(1), at) }
    : { ...layout, second: resized(layout.second, path.slice(1), at) }
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** Where each pane stands in a unit square. */
export function boxes(layout: Layout, box: Box = { x: 0, y: 0, width: 1, height: 1 }): Map<string, Box> {
  if (isLeaf(layout)) return new Map([[layout.pane, box]])
  const { first, second } = halves(box, layout.to, layout.at)
  return new Map([...boxes(layout.first, first), ...boxes(layout.second, second)])
}

export interface Divider {
  /** Leads to its split. */
  path: string
  to: Split['to']
  at: number
  /** Of the whole split. */
  box: Box
}

/** The splitters between panes, outermost first. */
export function dividers(layout: Layout, path = '', box: Box = { x: 0, y: 0, width: 1, height: 1 }): Divider[] {
  if (isLeaf(layout)) return []
  const { to, at, first, second } = layout
  const parts = halves(box, to, at)
  return [
    { path, to, at, box },
    ...dividers(first, `${path}f`, parts.first),
    ...dividers(second, `${path}s`, parts.second),
  ]
}

function halves(box: Box, to: Split['to'], at: number): { first: Box; second: Box } {
  const first = to === 'right' ? { ...box, width: box.width * at } : { ...box, height: box.height * at }
  const second =
    to === 'right'
      ? { ...box, x: box.x + first.width, width: box.width - first.width }
      : { ...box, y: box.y + first.height, height: box.height - first.height }
  return { first, second }
}

/** More room for a pane (or less, where `by` is negative), from the part it shares its nearest split with. */
export function grown(layout: Layout, pane: string, by: number): Layout {
  if (isLeaf(layout)) return layout
  const { first, second, at } = layout
  const inFirst = leaves(first).some((leaf) => leaf.pane === pane)
  const part = inFirst ? first : second
  if (isLeaf(part)) return part.pane === pane ? resized(layout, '', at + (inFirst ? by : -by)) : layout
  return inFirst ? { ...layout, first: grown(first, pane, by) } : { ...layout, second: grown(second, pane, by) }
}

export type Direction = 'left' | 'right' | 'up' | 'down'

/** The pane next to one, that shares the longest edge with it. */
export function neighbour(layout: Layout, pane: string, direction: Direction): string | undefined {
  const all = boxes(layout)
  const from = all.get(pane)
  if (!from) return undefined
  const near = 1e-6
  const touches = (box: Box): boolean => {
    switch (direction) {
      case 'left':
        return Math.abs(box.x + box.width - from.x) < near
      case 'right':
        return Math.abs(from.x + from.width - box.x) < near
      case 'up':
        return Math.abs(box.y + box.height - from.y) < near
      case 'down':
        return Math.abs(from.y + from.height - box.y) < near
    }
  }
  const across = direction === 'left' || direction === 'right'
  const shared = (box: Box): number =>
    across
      ? Math.min(box.y + box.height, from.y + from.height) - Math.max(box.y, from.y)
      : Math.min(box.x + box.width, from.x + from.width) - Math.max(box.x, from.x)
  const found = [...all]
    .filter(([id, box]) => id !== pane && touches(box) && shared(box) > near)
    .sort(([, a], [, b]) => shared(b) - shared(a))
  return found[0]?.[0]
}

/** Two panes change places. */
export function swapped(layout: Layout, a: string, b: string): Layout {
  const all = leaves(layout)
  const [first, second] = [all.find(({ pane }) => pane === a), all.find(({ pane }) => pane === b)]
  if (!first || !second) return layout
  const replace = (part: Layout): Layout => {
    if (isLeaf(part)) return part.pane === a ? second : part.pane === b ? first : part
    return { ...part, first: replace(part.first), second: replace(part.second) }
  }
  return replace(layout)
}

/** Many panes at once, in tabs of at most nine, each as square as it gets. */
export function gridTabs(panes: readonly Leaf[], tabId: () => string): Tab[] {
  const tabs: Tab[] = []
  for (let at = 0; at < panes.length; at += GRID_PANES) {
    const some = panes.slice(at, at + GRID_PANES)
    const columns = Math.ceil(Math.sqrt(some.length))
    const rows: Layout[] = []
    for (let i = 0; i < some.length; i += columns) rows.push(row(some.slice(i, i + columns), 'right'))
    tabs.push({ id: tabId(), layout: row(rows, 'down'), active: some[0]!.pane })
  }
  return tabs
}

/** In a row of equal shares. */
function row(parts: readonly Layout[], to: Split['to']): Layout {
  const [first, ...rest] = parts
  return rest.length === 0 ? first! : { to, at: 1 / parts.length, first: first!, second: row(rest, to) }
}
