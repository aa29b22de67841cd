import { describe, expect, it } from 'vitest'
import { deskOf, deskText } from '../../../../../src/renderer/features/consoles/kept-desk.ts'
import {
  boxes,
  dividers,
  type Layout,
  leaves,
  MAX_PANES,
  neighbour,
  splitPane,
} from '../../../../../src/renderer/features/consoles/workspace-layout.ts'
import {
  addWorkspace,
  closePane,
  closeTab,
  type Desk,
  EMPTY_DESK,
  focusNeighbour,
  growPane,
  moveTab,
  nameProblem,
  openMany,
  openTab,
  paneCount,
  removeWorkspace,
  renameWorkspace,
  resizeSplit,
  setTarget,
  shownTab,
  shownWorkspace,
  split,
  swapNeighbour,
} from '../../../../../src/renderer/features/consoles/workspaces.ts'

const vm = (vmId: string) => ({ kind: 'console', vmId }) as const
const tab = (desk: Desk) => shownTab(shownWorkspace(desk))!
const shown = (desk: Desk) => leaves(tab(desk).layout).map(({ target }) => (target as { vmId?: string } | null)?.vmId)
const paneFor = (desk: Desk, vmId: string) =>
  leaves(tab(desk).layout).find(({ target }) => target?.kind === 'console' && target.vmId === vmId)!.pane

/** web beside mail, and db below both. */
function three(): Desk {
  let desk = openTab(EMPTY_DESK, vm('web'))
  desk = split(desk, paneFor(desk, 'web'), 'down')!
  desk = setTarget(desk, tab(desk).active, vm('db'))
  desk = split(desk, paneFor(desk, 'web'), 'right')!
  return setTarget(desk, tab(desk).active, vm('mail'))
}

describe('panes of a tab', () => {
  it('stand where they were split', () => {
    const desk = three()
    expect(shown(desk)).toEqual(['web', 'mail', 'db'])
    const all = boxes(tab(desk).layout)
    expect(all.get(paneFor(desk, 'mail'))).toEqual({ x: 0.5, y: 0, width: 0.5, height: 0.5 })
    expect(all.get(paneFor(desk, 'db'))).toEqual({ x: 0, y: 0.5, width: 1, height: 0.5 })
    expect(dividers(tab(desk).layout).map(({ path, to }) => [path, to])).toEqual([
      ['', 'down'],
      ['f', 'right'],
    ])
  })

  it('the focus moves to what is beside, and nowhere at an edge', () => {
    const desk = three()
    const at = (d: Desk) => leaves(tab(d).layout).find(({ pane }) => pane === tab(d).active)?.target
    expect(at(focusNeighbour(desk, paneFor(desk, 'mail'), 'left'))).toEqual(vm('web'))
    expect(at(focusNeighbour(desk, paneFor(desk, 'mail'), 'down'))).toEqual(vm('db'))
    expect(focusNeighbour(desk, paneFor(desk, 'mail'), 'right')).toBe(desk)
    expect(neighbour(tab(desk).layout, paneFor(desk, 'db'), 'up')).toBe(paneFor(desk, 'web'))
  })

  it('change places, and sizes, without being made anew', () => {
    const desk = three()
    expect(shown(swapNeighbour(desk, paneFor(desk, 'web'), 'right'))).toEqual(['mail', 'web', 'db'])
    const larger = growPane(desk, paneFor(desk, 'mail'), 0.1)
    expect(boxes(tab(larger).layout).get(paneFor(desk, 'mail'))?.width).toBeCloseTo(0.6)
    const dragged = resizeSplit(desk, tab(desk).id, '', 7)
    expect((tab(dragged).layout as { at: number }).at).toBe(0.9)
  })

  it('closing one gives its room to its neighbour; the last one closes its tab', () => {
    let desk = three()
    desk = closePane(desk, paneFor(desk, 'web'))
    expect(shown(desk)).toEqual(['mail', 'db'])
    desk = closePane(desk, paneFor(desk, 'db'))
    desk = closePane(desk, paneFor(desk, 'mail'))
    expect(shownWorkspace(desk).tabs).toEqual([])
  })

  it('what is shown already is gone to, and not opened twice', () => {
    let desk = three()
    desk = openTab(desk, null)
    expect(shownWorkspace(desk).tabs).toHaveLength(2)
    desk = setTarget(desk, tab(desk).active, vm('db'))
    expect(shownWorkspace(desk).tabs).toHaveLength(1)
    expect(tab(desk).active).toBe(paneFor(desk, 'db'))
    expect(openTab(desk, vm('web')).workspaces[0]?.tabs).toHaveLength(1)
  })
})

describe('many consoles at once', () => {
  it('come side by side, nine to a tab, and say what found no room', () => {
    const { desk, left } = openMany(
      EMPTY_DESK,
      Array.from({ length: 70 }, (_, i) => vm(`vm-${i}`)),
    )
    expect(left).toBe(70 - MAX_PANES)
    expect(shownWorkspace(desk).tabs.map(({ layout }) => leaves(layout).length)).toEqual([9, 9, 9, 9, 9, 9, 9, 1])
    const sizes = [...boxes(tab(desk).layout).values()].map(({ width, height }) => [width, height])
    for (const [width, height] of sizes) {
      expect(width).toBeCloseTo(1 / 3)
      expect(height).toBeCloseTo(1 / 3)
    }
    expect(split(desk, tab(desk).active, 'right')).toBeUndefined()
    expect(paneCount(shownWorkspace(openTab(desk, vm('one more'))))).toBe(MAX_PANES)
  })
})

describe('workspaces', () => {
  it('have names of their own', () => {
    let desk = addWorkspace(three(), ' prod ', false)
    expect(desk.shown).toBe('prod')
    expect(nameProblem(desk, 'prod')).toContain('already')
    expect(nameProblem(desk, ' ')).toContain('name')
    desk = renameWorkspace(desk, 'lab')
    expect(desk.workspaces.map(({ name }) => name)).toEqual(['Consoles', 'lab'])
    expect(removeWorkspace(removeWorkspace(desk))).toEqual(EMPTY_DESK)
  })

  it('a copy has panes of its own', () => {
    const desk = three()
    const copy = addWorkspace(desk, 'prod', true)
    expect(shown(copy)).toEqual(shown(desk))
    expect(leaves(tab(copy).layout).map(({ pane }) => pane)).not.toEqual(
      leaves(tab(desk).layout).map(({ pane }) => pane),
    )
  })

  it('a tab is moved, and its neighbour shown when it is closed', () => {
    let desk = openTab(openTab(EMPTY_DESK, vm('a')), vm('b'))
    const [a, b] = shownWorkspace(desk).tabs.map(({ id }) => id)
    desk = moveTab(desk, b!, -1)
    expect(shownWorkspace(desk).tabs.map(({ id }) => id)).toEqual([b, a])
    expect(shownWorkspace(closeTab(desk, b!)).active).toBe(a)
  })
})

describe('a desk that was kept', () => {
  it('comes back as it was', () => {
    const desk = addWorkspace(three(), 'prod', true)
    expect(deskOf(deskText(desk))).toEqual(desk)
  })

  it.each([null, '', '{', '[]', '{"version":2,"workspaces":[]}', '{"version":1,"workspaces":[{"name":""}]}'])(
    '%j is none',
    (text) => expect(deskOf(text)).toEqual(EMPTY_DESK),
  )

  it('loses what is none of ours, and keeps the rest', () => {
    const kept = JSON.parse(deskText(three())) as { workspaces: { tabs: { layout: unknown }[] }[] }
    kept.workspaces[0]!.tabs.push({ layout: { pane: 7 } })
    expect(deskOf(JSON.stringify(kept)).workspaces[0]?.tabs).toHaveLength(1)
    let deep: Layout = { pane: 'p0', target: null }
    for (let i = 1; i < 40; i++) deep = splitPane(deep, `p${i - 1}`, 'down', { pane: `p${i}`, target: null })
    const text = JSON.stringify({
      version: 1,
      workspaces: [{ name: 'deep', tabs: [{ id: 't', active: '', layout: deep }] }],
    })
    expect(leaves(deskOf(text).workspaces[0]!.tabs[0]!.layout).length).toBeLessThanOrEqual(13)
  })
})
