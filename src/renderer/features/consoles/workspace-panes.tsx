import { plural } from '../../lib/format.ts'
import { toastDone } from '../../ui/toasts.tsx'
import { ConsolePane } from './console-pane.tsx'
import { consoleKey, drop } from './open-consoles.ts'
import type { WorkspaceActs } from './pane-acts.ts'
import { Splitter } from './splitter.tsx'
import { VmPicker } from './vm-picker.tsx'
import { boxes, dividers, type Leaf, leaves, MAX_PANES, type Tab } from './workspace-layout.ts'
import { changeDesk } from './workspace-store.ts'
import {
  closePane,
  focusNeighbour,
  focusPane,
  growPane,
  openTab,
  resizeSplit,
  setTarget,
  split,
  swapNeighbour,
} from './workspaces.ts'

const GROWS_BY = 0.05
const percent = (share: number) => `${share * 100}%`

/** Every pane of a tab in its place. A pane that moves is the same pane: nothing of it is made anew. */
export function WorkspacePanes({ tab }: { tab: Tab }) {
  const places = boxes(tab.layout)
  return (
    <div className="relative h-full min-h-0">
      {leaves(tab.layout).map((leaf) => {
        const box = places.get(leaf.pane)!
        return (
          <div
            key={leaf.pane}
            className="absolute overflow-hidden"
            style={{
              left: percent(box.x),
              top: percent(box.y),
              width: percent(box.width),
              height: percent(box.height),
            }}
          >
            <Pane leaf={leaf} focused={leaf.pane === tab.active} />
          </div>
        )
      })}
      {dividers(tab.layout).map((divider) => (
        <Splitter
          key={divider.path}
          divider={divider}
          onMove={(at) => changeDesk((desk) => resizeSplit(desk, tab.id, divider.path, at))}
        />
      ))}
    </div>
  )
}

function Pane({ leaf, focused }: { leaf: Leaf; focused: boolean }) {
  const { pane, target } = leaf
  if (!target)
    return (
      <section aria-label="Empty pane" className="h-full" onFocus={() => changeDesk((desk) => focusPane(desk, pane))}>
        <VmPicker
          focused={focused}
          onPick={(vmId) => changeDesk((desk) => setTarget(desk, pane, { kind: 'console', vmId }))}
          onClose={() => changeDesk((desk) => closePane(desk, pane))}
        />
      </section>
    )
  return (
    <ConsolePane
      key={paneKey(leaf)}
      paneKey={paneKey(leaf)}
      target={target}
      focused={focused}
      workspace={paneActs(leaf)}
    />
  )
}

const paneKey = ({ pane, target }: Leaf): string =>
  target?.kind === 'console' ? consoleKey(target.vmId) : `pane:${pane}`

export const newTab = (): void => changeDesk((desk) => openTab(desk, null))

export function splitTo(pane: string, to: 'right' | 'down'): void {
  changeDesk((desk) => {
    const next = split(desk, pane, to)
    if (!next) toastDone(`No room: a workspace holds ${plural(MAX_PANES, 'pane')}.`)
    return next
  })
}

/** Ends what ends with its view. The text of a console stays, here for a while and on its host. */
export function endPanes(closed: readonly Leaf[]): void {
  for (const leaf of closed) if (leaf.target?.kind === 'shell') drop(paneKey(leaf))
}

function paneActs(leaf: Leaf): WorkspaceActs {
  const { pane } = leaf
  return {
    newTab,
    splitRight: () => splitTo(pane, 'right'),
    splitDown: () => splitTo(pane, 'down'),
    move: (direction) => changeDesk((desk) => focusNeighbour(desk, pane, direction)),
    swap: (direction) => changeDesk((desk) => swapNeighbour(desk, pane, direction)),
    grow: (by) => changeDesk((desk) => growPane(desk, pane, by * GROWS_BY)),
    close: () => {
      endPanes([leaf])
      changeDesk((desk) => closePane(desk, pane))
    },
    focused: () => changeDesk((desk) => focusPane(desk, pane)),
  }
}
