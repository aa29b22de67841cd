import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Menu, type MenuEntry } from '../../ui/menu.tsx'
import { leaves } from './workspace-layout.ts'
import { endPanes } from './workspace-panes.tsx'
import { changeDesk, useDesk } from './workspace-store.ts'
import {
  addWorkspace,
  MAX_WORKSPACES,
  moveTab,
  nameProblem,
  removeWorkspace,
  renameWorkspace,
  shownWorkspace,
} from './workspaces.ts'

type Asking = 'new' | 'copy' | 'rename'
const ASKS: Record<Asking, { title: string; act: string }> = {
  new: { title: 'New workspace', act: 'Make it' },
  copy: { title: 'Save these tabs as another workspace', act: 'Save' },
  rename: { title: 'Rename the workspace', act: 'Rename' },
}

/** The named layouts of this window, kept over reloads and restarts. */
export function WorkspaceMenu() {
  const desk = useDesk()
  const [asking, setAsking] = useState<Asking>()
  const shown = shownWorkspace(desk)
  const full = desk.workspaces.length >= MAX_WORKSPACES
  const items: MenuEntry[] = [
    ...desk.workspaces.map(({ name, tabs }) => ({
      label: `${name} (${tabs.length})`,
      checked: name === shown.name,
      onSelect: () => changeDesk((d) => ({ ...d, shown: name })),
    })),
    'separator',
    { label: 'New workspace…', disabled: full, onSelect: () => setAsking('new') },
    { label: 'Save a copy as…', disabled: full, onSelect: () => setAsking('copy') },
    { label: 'Rename…', onSelect: () => setAsking('rename') },
    { label: 'Move the tab left', onSelect: () => changeDesk((d) => moveTab(d, shown.active, -1)) },
    { label: 'Move the tab right', onSelect: () => changeDesk((d) => moveTab(d, shown.active, 1)) },
    'separator',
    {
      label: `Remove ${shown.name}`,
      onSelect: () => {
        endPanes(shown.tabs.flatMap(({ layout }) => leaves(layout)))
        changeDesk(removeWorkspace)
      },
    },
  ]
  return (
    <>
      <Menu
        items={items}
        trigger={
          <Button size="small" look="quiet" aria-label={`Workspace ${shown.name}`}>
            <span className="font-medium text-ink">{shown.name}</span>
            <ChevronDown size={13} aria-hidden />
          </Button>
        }
      />
      {asking && <NameSheet asking={asking} onClose={() => setAsking(undefined)} />}
    </>
  )
}

function NameSheet({ asking, onClose }: { asking: Asking; onClose: () => void }) {
  const desk = useDesk()
  const [name, setName] = useState('')
  const problem = nameProblem(desk, name)
  const done = () => {
    if (problem !== '') return
    changeDesk((d) => (asking === 'rename' ? renameWorkspace(d, name) : addWorkspace(d, name, asking === 'copy')))
    onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={ASKS[asking].title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={problem !== ''} onClick={done}>
            {ASKS[asking].act}
          </Button>
        </>
      }
    >
      <TextField
        label="Name"
        value={name}
        problem={name === '' ? undefined : problem || undefined}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && done()}
      />
    </Dialog>
  )
}
