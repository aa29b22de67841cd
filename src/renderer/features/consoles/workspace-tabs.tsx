import { Plus, X } from 'lucide-react'
import { cx } from '../../lib/class-names.ts'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { IconButton } from '../../ui/button.tsx'
import { chordName } from './console-keys.ts'
import { paneIdentity } from './view-model.ts'
import { leaves, type Tab } from './workspace-layout.ts'
import { endPanes, newTab } from './workspace-panes.tsx'
import { changeDesk } from './workspace-store.ts'
import { closeTab, showTab, type Workspace } from './workspaces.ts'

/** The tabs of a workspace, each named after the pane used last in it. */
export function WorkspaceTabs({ workspace }: { workspace: Workspace }) {
  const names = useFleetShallow(({ vms, hosts }) =>
    workspace.tabs.map((tab) => {
      const panes = leaves(tab.layout)
      // a pane that is still being picked gives no name while another has one
      const target = panes.find(({ pane }) => pane === tab.active)?.target ?? panes.find((p) => p.target)?.target
      if (!target) return 'New tab'
      const vm = vms.get(target.kind === 'console' ? target.vmId : target.id)
      return paneIdentity(target, vm, target.kind === 'shell' ? hosts.get(target.id) : undefined).name
    }),
  )
  return (
    <nav aria-label="Tabs" className="flex min-w-0 flex-1 items-center gap-1">
      <ul className="flex min-w-0 items-center gap-1 overflow-x-auto">
        {workspace.tabs.map((tab, i) => (
          <TabItem key={tab.id} tab={tab} name={names[i] ?? ''} here={tab.id === workspace.active} />
        ))}
      </ul>
      <IconButton label="New tab" title={`New tab (${chordName('T')} in a console)`} onClick={newTab}>
        <Plus size={15} aria-hidden />
      </IconButton>
    </nav>
  )
}

function TabItem({ tab, name, here }: { tab: Tab; name: string; here: boolean }) {
  const panes = leaves(tab.layout)
  return (
    <li
      className={cx(
        'flex h-7 min-w-0 max-w-52 shrink-0 items-center rounded-md border pr-0.5',
        here ? 'border-line-strong bg-panel text-ink' : 'border-transparent text-dim hover:bg-hover',
      )}
    >
      <button
        type="button"
        aria-current={here ? 'page' : undefined}
        className="h-full min-w-0 truncate px-2"
        onClick={() => changeDesk((desk) => showTab(desk, tab.id))}
      >
        {name}
        {panes.length > 1 && <span className="text-faint"> · {panes.length}</span>}
      </button>
      <IconButton
        label={`Close the tab ${name}`}
        className="size-6"
        onClick={() => {
          endPanes(panes)
          changeDesk((desk) => closeTab(desk, tab.id))
        }}
      >
        <X size={12} aria-hidden />
      </IconButton>
    </li>
  )
}
