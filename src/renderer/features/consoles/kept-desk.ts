import { type Layout, leaves, MAX_PANES, type PaneTarget, SPLIT_LEAST, type Tab } from './workspace-layout.ts'
import { type Desk, EMPTY_DESK, MAX_WORKSPACES, type Workspace } from './workspaces.ts'

const VERSION = 1
const MAX_DEPTH = 12
const MAX_TEXT = 80

export const deskText = (desk: Desk): string => JSON.stringify({ version: VERSION, ...desk })

/** What was kept, whatever wrote it: what is none of ours is left out, the rest stands. */
export function deskOf(text: string | null): Desk {
  const kept = object(parsed(text))
  if (kept['version'] !== VERSION || !Array.isArray(kept['workspaces'])) return EMPTY_DESK
  const names = new Set<string>()
  const workspaces = kept['workspaces']
    .map(workspaceOf)
    .filter((w): w is Workspace => w !== undefined && !names.has(w.name) && names.add(w.name) !== undefined)
    .slice(0, MAX_WORKSPACES)
  if (workspaces.length === 0) return EMPTY_DESK
  const shown = workspaces.find(({ name }) => name === kept['shown'])?.name ?? workspaces[0]!.name
  return { workspaces, shown }
}

function workspaceOf(value: unknown): Workspace | undefined {
  const { name, tabs, active } = object(value)
  if (!isText(name) || name === '' || !Array.isArray(tabs)) return undefined
  const panes = new Set<string>()
  const read = tabs.map((tab) => tabOf(tab, panes)).filter((tab): tab is Tab => tab !== undefined)
  return { name, tabs: read, active: read.find(({ id }) => id === active)?.id ?? read[0]?.id ?? '' }
}

function tabOf(value: unknown, panes: Set<string>): Tab | undefined {
  const { id, layout: kept, active } = object(value)
  const layout = layoutOf(kept, panes, 0)
  if (!isText(id) || !layout) return undefined
  const own = leaves(layout)
  return { id, layout, active: own.find(({ pane }) => pane === active)?.pane ?? own[0]!.pane }
}

function layoutOf(value: unknown, panes: Set<string>, depth: number): Layout | undefined {
  const { pane, target, to, at, first, second } = object(value)
  if (isText(pane)) {
    if (panes.has(pane) || panes.size >= MAX_PANES) return undefined
    panes.add(pane)
    return { pane, target: targetOf(target) }
  }
  if (depth >= MAX_DEPTH || (to !== 'right' && to !== 'down')) return undefined
  const [a, b] = [layoutOf(first, panes, depth + 1), layoutOf(second, panes, depth + 1)]
  if (!a || !b) return a ?? b
  const share = typeof at === 'number' && at >= SPLIT_LEAST && at <= 1 - SPLIT_LEAST ? at : 0.5
  return { to, at: share, first: a, second: b }
}

function targetOf(value: unknown): PaneTarget | null {
  const { kind, vmId, on, id, login } = object(value)
  if (kind === 'console' && isText(vmId)) return { kind, vmId }
  if (kind === 'shell' && (on === 'vm' || on === 'host') && isText(id) && isText(login)) return { kind, on, id, login }
  return null
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_TEXT
const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
