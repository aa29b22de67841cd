import {
  type Direction,
  gridTabs,
  grown,
  type Layout,
  type Leaf,
  leaves,
  MAX_PANES,
  neighbour,
  type PaneTarget,
  resized,
  type Split,
  sameTarget,
  splitPane,
  swapped,
  type Tab,
  withLeaf,
  withoutPane,
} from './workspace-layout.ts'

/** Tabs under a name, kept over reloads and restarts. */
export interface Workspace {
  name: string
  tabs: Tab[]
  /** Id of the tab that is shown; empty = there is none. */
  active: string
}

/** Every workspace of this window, and which is shown. */
export interface Desk {
  workspaces: Workspace[]
  shown: string
}

export const MAX_WORKSPACES = 20
export const FIRST_NAME = 'Consoles'
const MAX_NAME = 40

export const EMPTY_DESK: Desk = { workspaces: [{ name: FIRST_NAME, tabs: [], active: '' }], shown: FIRST_NAME }

let made = 0
/** Unique among what this window keeps, which may be of earlier ones. */
export const freshId = (): string => `${Date.now().toString(36)}${(made++).toString(36)}`

export const shownWorkspace = (desk: Desk): Workspace =>
  desk.workspaces.find(({ name }) => name === desk.shown) ?? desk.workspaces[0] ?? EMPTY_DESK.workspaces[0]!

export const shownTab = ({ tabs, active }: Workspace): Tab | undefined => tabs.find(({ id }) => id === active)
export const paneCount = ({ tabs }: Workspace): number => tabs.reduce((sum, tab) => sum + leaves(tab.layout).length, 0)

function inShown(desk: Desk, change: (workspace: Workspace) => Workspace): Desk {
  const shown = shownWorkspace(desk)
  const next = change(shown)
  return next === shown ? desk : { ...desk, workspaces: desk.workspaces.map((w) => (w === shown ? next : w)) }
}

const inTab = (workspace: Workspace, tabId: string, change: (tab: Tab) => Tab): Workspace => ({
  ...workspace,
  tabs: workspace.tabs.map((tab) => (tab.id === tabId ? change(tab) : tab)),
})

const tabOf = ({ tabs }: Workspace, pane: string): Tab | undefined =>
  tabs.find((tab) => leaves(tab.layout).some((leaf) => leaf.pane === pane))

/** Changes the layout of the tab that has the pane. */
function inPane(desk: Desk, pane: string, change: (layout: Layout) => Layout, active = pane): Desk {
  return inShown(desk, (workspace) => {
    const tab = tabOf(workspace, pane)
    return tab ? inTab(workspace, tab.id, () => ({ ...tab, layout: change(tab.layout), active })) : workspace
  })
}

/** The pane that shows this already, in the shown workspace. */
export function paneOf(workspace: Workspace, target: PaneTarget): string | undefined {
  return workspace.tabs.flatMap(({ layout }) => leaves(layout)).find((leaf) => sameTarget(leaf.target, target))?.pane
}

export const focusPane = (desk: Desk, pane: string): Desk =>
  inShown(desk, (workspace) => {
    const tab = tabOf(workspace, pane)
    if (!tab || (workspace.active === tab.id && tab.active === pane)) return workspace
    return { ...inTab(workspace, tab.id, () => ({ ...tab, active: pane })), active: tab.id }
  })

export const showTab = (desk: Desk, id: string): Desk => inShown(desk, (w) => ({ ...w, active: id }))

/** A tab of its own; what is shown already is gone to. Nothing where the workspace is full. */
export function openTab(desk: Desk, target: PaneTarget | null): Desk {
  const known = target && paneOf(shownWorkspace(desk), target)
  if (known) return focusPane(desk, known)
  return inShown(desk, (workspace) => {
    if (paneCount(workspace) >= MAX_PANES) return workspace
    const pane = freshId()
    const tab: Tab = { id: freshId(), layout: { pane, target }, active: pane }
    return { ...workspace, tabs: [...workspace.tabs, tab], active: tab.id }
  })
}

/** Side by side; `left` = how many found no room. */
export function openMany(desk: Desk, targets: readonly PaneTarget[]): { desk: Desk; left: number } {
  const workspace = shownWorkspace(desk)
  const fresh = targets.filter((target) => paneOf(workspace, target) === undefined)
  const room = MAX_PANES - paneCount(workspace)
  const panes: Leaf[] = fresh.slice(0, room).map((target) => ({ pane: freshId(), target }))
  const left = fresh.length - panes.length
  if (panes.length === 0) {
    const first = targets[0] && paneOf(workspace, targets[0])
    return { desk: first ? focusPane(desk, first) : desk, left }
  }
  const tabs = gridTabs(panes, freshId)
  const next = inShown(desk, (w) => ({ ...w, tabs: [...w.tabs, ...tabs], active: tabs[0]!.id }))
  return { desk: next, left }
}

/** Undefined where there is no room for one more. */
export function split(desk: Desk, pane: string, to: Split['to']): Desk | undefined {
  if (paneCount(shownWorkspace(desk)) >= MAX_PANES) return undefined
  const fresh: Leaf = { pane: freshId(), target: null }
  return inPane(desk, pane, (layout) => splitPane(layout, pane, to, fresh), fresh.pane)
}

/** In the pane; one that shows it already is gone to instead, and the empty one closed. */
export function setTarget(desk: Desk, pane: string, target: PaneTarget): Desk {
  const known = paneOf(shownWorkspace(desk), target)
  if (known && known !== pane) return focusPane(closePane(desk, pane), known)
  return inPane(desk, pane, (layout) => withLeaf(layout, pane, (leaf) => ({ ...leaf, target })))
}

/** With the last pane its tab goes, and the one beside it is shown. */
export function closePane(desk: Desk, pane: string): Desk {
  return inShown(desk, (workspace) => {
    const tab = tabOf(workspace, pane)
    if (!tab) return workspace
    const before = leaves(tab.layout).map((leaf) => leaf.pane)
    const layout = withoutPane(tab.layout, pane)
    if (!layout) return withoutTab(workspace, tab.id)
    const left = leaves(layout).map((leaf) => leaf.pane)
    const active = tab.active === pane ? left[Math.min(before.indexOf(pane), left.length - 1)]! : tab.active
    return inTab(workspace, tab.id, () => ({ ...tab, layout, active }))
  })
}

export const closeTab = (desk: Desk, id: string): Desk => inShown(desk, (workspace) => withoutTab(workspace, id))

function withoutTab(workspace: Workspace, id: string): Workspace {
  const at = workspace.tabs.findIndex((tab) => tab.id === id)
  const tabs = workspace.tabs.filter((tab) => tab.id !== id)
  if (workspace.active !== id) return { ...workspace, tabs }
  return { ...workspace, tabs, active: tabs[Math.min(at, tabs.length - 1)]?.id ?? '' }
}

export const resizeSplit = (desk: Desk, tab: string, path: string, at: number): Desk =>
  inShown(desk, (w) => inTab(w, tab, (t) => ({ ...t, layout: resized(t.layout, path, at) })))

/** The focus to the pane on that side; nothing where there is none. */
export function focusNeighbour(desk: Desk, pane: string, direction: Direction): Desk {
  const tab = tabOf(shownWorkspace(desk), pane)
  const next = tab && neighbour(tab.layout, pane, direction)
  return next ? focusPane(desk, next) : desk
}

export const growPane = (desk: Desk, pane: string, by: number): Desk =>
  inPane(desk, pane, (layout) => grown(layout, pane, by))

/** The pane to the other side of its neighbour there. */
export function swapNeighbour(desk: Desk, pane: string, direction: Direction): Desk {
  const tab = tabOf(shownWorkspace(desk), pane)
  const next = tab && neighbour(tab.layout, pane, direction)
  return next ? inPane(desk, pane, (layout) => swapped(layout, pane, next)) : desk
}

/** One tab to the left (-1) or right (1). */
export const moveTab = (desk: Desk, id: string, by: -1 | 1): Desk =>
  inShown(desk, (workspace) => {
    const at = workspace.tabs.findIndex((tab) => tab.id === id)
    const to = at + by
    if (at < 0 || to < 0 || to >= workspace.tabs.length) return workspace
    const tabs = [...workspace.tabs]
    tabs.splice(to, 0, ...tabs.splice(at, 1))
    return { ...workspace, tabs }
  })

/** Why a workspace cannot have this name; empty = it can. */
export function nameProblem(desk: Desk, name: string): string {
  if (name.trim() === '') return 'Give it a name.'
  if (name.length > MAX_NAME) return `Use at most ${MAX_NAME} characters.`
  return desk.workspaces.some((w) => w.name === name.trim()) ? `There is a workspace ${name.trim()} already.` : ''
}

/** A new one; `copy` = with the tabs of the shown one, whose own are left as they are. */
export function addWorkspace(desk: Desk, name: string, copy: boolean): Desk {
  const from = shownWorkspace(desk)
  const tabs = copy ? from.tabs.map(copied) : []
  const active = copy ? (tabs[from.tabs.findIndex(({ id }) => id === from.active)]?.id ?? '') : ''
  return { workspaces: [...desk.workspaces, { name: name.trim(), tabs, active }], shown: name.trim() }
}

function copied(tab: Tab): Tab {
  let active = ''
  const walk = (layout: Layout): Layout => {
    if ('pane' in layout) {
      const pane = freshId()
      if (layout.pane === tab.active) active = pane
      return { ...layout, pane }
    }
    return { ...layout, first: walk(layout.first), second: walk(layout.second) }
  }
  const layout = walk(tab.layout)
  return { id: freshId(), layout, active }
}

export const renameWorkspace = (desk: Desk, name: string): Desk => ({
  workspaces: desk.workspaces.map((w) => (w.name === desk.shown ? { ...w, name: name.trim() } : w)),
  shown: name.trim(),
})

/** The last one only becomes empty. */
export function removeWorkspace(desk: Desk): Desk {
  const workspaces = desk.workspaces.filter(({ name }) => name !== desk.shown)
  return workspaces.length === 0 ? EMPTY_DESK : { workspaces, shown: workspaces[0]!.name }
}
