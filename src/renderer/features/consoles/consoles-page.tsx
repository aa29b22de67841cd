import { Columns2, Rows2, SquareTerminal } from 'lucide-react'
import { Button, IconButton } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { keyText } from '../../ui/key-table.ts'
import { useKeys } from '../../ui/keys.ts'
import { BroadcastButton } from './broadcast-button.tsx'
import { chordName } from './console-keys.ts'
import { WorkspaceMenu } from './workspace-menu.tsx'
import { newTab, splitTo, WorkspacePanes } from './workspace-panes.tsx'
import { changeDesk, useDesk } from './workspace-store.ts'
import { WorkspaceTabs } from './workspace-tabs.tsx'
import { shownTab, shownWorkspace, showTab } from './workspaces.ts'

const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9]

/** Consoles and shells of many VMs and hosts side by side, in tabs and splits that stay as they were left. */
export function ConsolesPage() {
  const workspace = useDesk(shownWorkspace)
  const tab = shownTab(workspace)
  useKeys(
    Object.fromEntries(
      NUMBERS.map((n) => [
        `alt+${n}`,
        () => {
          const wanted = workspace.tabs[n - 1]
          if (wanted) changeDesk((desk) => showTab(desk, wanted.id))
        },
      ]),
    ),
  )
  return (
    <div className="flex h-full min-w-0 flex-col bg-bg">
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-panel px-3 py-1">
        <h1 className="sr-only">Consoles</h1>
        <WorkspaceMenu />
        <WorkspaceTabs workspace={workspace} />
        {tab && (
          <div className="flex items-center gap-1">
            <IconButton
              label="Split right"
              title={`Split right (${chordName('\\')} in a console)`}
              onClick={() => splitTo(tab.active, 'right')}
            >
              <Columns2 size={15} aria-hidden />
            </IconButton>
            <IconButton
              label="Split down"
              title={`Split down (${chordName('-')} in a console)`}
              onClick={() => splitTo(tab.active, 'down')}
            >
              <Rows2 size={15} aria-hidden />
            </IconButton>
            <BroadcastButton tabId={tab.id} />
          </div>
        )}
      </header>
      <div className="min-h-0 flex-1">
        {tab ? (
          <WorkspacePanes key={tab.id} tab={tab} />
        ) : (
          <EmptyState icon={SquareTerminal} title="No console is open here">
            <p>Pick a VM, or press {keyText('mod+k')} and type its name. Tabs and splits stay as you leave them.</p>
            <Button look="primary" onClick={newTab}>
              Pick a VM
            </Button>
          </EmptyState>
        )}
      </div>
    </div>
  )
}
