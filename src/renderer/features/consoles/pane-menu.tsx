import { MoreHorizontal } from 'lucide-react'
import { FONT_SIZE, type Preferences } from '../../state/preference-shape.ts'
import { patchPreference, setPreference, usePreferences } from '../../state/preferences.ts'
import { isReadingAloud } from '../../state/screen-reader.ts'
import { IconButton } from '../../ui/button.tsx'
import { Menu, type MenuEntry } from '../../ui/menu.tsx'
import { chordName } from './console-keys.ts'
import type { PaneActs, WorkspaceActs } from './pane-acts.ts'
import { CONTROL_KEYS, FUNCTION_KEYS, NOT_OVER_SERIAL, OTHER_KEYS, type SentKey } from './send-keys.ts'

interface PaneMenuProps {
  acts: PaneActs
  open: boolean
  onOpenChange: (open: boolean) => void
  /** Back to typing. */
  onClosed: () => void
}

/** Everything a pane can do, for those without its chords; each shows its chord. */
export function PaneMenu({ acts, open, onOpenChange, onClosed }: PaneMenuProps) {
  const preferences = usePreferences()
  const { workspace, shell } = acts
  const items: (MenuEntry | false)[] = [
    { label: 'Find', keys: chordName('F'), onSelect: acts.find },
    { label: 'Copy the selection', keys: chordName('C'), onSelect: acts.copy },
    { label: 'Paste', keys: chordName('V'), disabled: !acts.canType, onSelect: acts.paste },
    { label: 'Copy all as text', onSelect: acts.copyAll },
    { label: 'Read as text', onSelect: acts.readAsText },
    !shell && { label: 'Read the log…', onSelect: acts.readLog },
    !shell && { label: 'Save the log…', onSelect: acts.saveLog },
    'separator',
    { submenu: 'Send keys', items: keyEntries(acts) },
    { label: 'Fit: tell the guest this size', disabled: !acts.canType, onSelect: acts.fit },
    { label: 'Reset view', onSelect: acts.reset },
    !shell && { label: 'Reconnect', keys: chordName('R'), onSelect: acts.reconnect },
    shell && { label: 'Open another', keys: chordName('R'), onSelect: acts.reconnect },
    acts.openShell !== undefined && { label: 'Open a shell over SSH', onSelect: acts.openShell },
    'separator',
    { submenu: 'View', items: viewEntries(acts, preferences) },
    ...(workspace ? paneEntries(workspace, shell) : []),
  ]
  return (
    <Menu
      open={open}
      onOpenChange={onOpenChange}
      onClosed={onClosed}
      trigger={
        <IconButton label="Console actions" title={`Actions (${chordName('P')})`} className="size-6">
          <MoreHorizontal size={14} aria-hidden />
        </IconButton>
      }
      items={items.filter((item) => item !== false)}
    />
  )
}

function keyEntries({ send, canType, shell }: PaneActs): MenuEntry[] {
  const entry = ({ label, text }: SentKey): MenuEntry => ({ label, disabled: !canType, onSelect: () => send(text) })
  return [
    ...CONTROL_KEYS.map(entry),
    'separator',
    ...OTHER_KEYS.map(entry),
    { submenu: 'Function keys', items: FUNCTION_KEYS.map(entry) },
    ...(shell ? [] : (['separator', { note: NOT_OVER_SERIAL }] satisfies MenuEntry[])),
  ]
}

function viewEntries(acts: PaneActs, { terminal }: Preferences): MenuEntry[] {
  const size = (fontSize: number) =>
    patchPreference('terminal', { fontSize: Math.min(FONT_SIZE.most, Math.max(FONT_SIZE.least, fontSize)) })
  return [
    {
      label: 'Times of lines',
      checked: terminal.timestamps,
      onSelect: () => patchPreference('terminal', { timestamps: !terminal.timestamps }),
    },
    { label: 'Guest may write the clipboard', checked: acts.clipboardWrites, onSelect: acts.toggleClipboard },
    { label: 'Tab leaves the console', keys: chordName('M'), checked: acts.tabLeaves, onSelect: acts.toggleTab },
    {
      label: 'Screen reader mode',
      checked: isReadingAloud(),
      onSelect: () => setPreference('screenReader', isReadingAloud() ? 'off' : 'on'),
    },
    { label: 'Larger text', onSelect: () => size(terminal.fontSize + 1) },
    { label: 'Smaller text', onSelect: () => size(terminal.fontSize - 1) },
  ]
}

const SIDES = { left: 'left', right: 'right', up: 'top', down: 'bottom' } as const

function paneEntries(workspace: WorkspaceActs, shell: boolean): MenuEntry[] {
  return [
    'separator',
    { label: 'Split right', keys: chordName('\\'), onSelect: workspace.splitRight },
    { label: 'Split down', keys: chordName('-'), onSelect: workspace.splitDown },
    {
      submenu: 'Move or size the pane',
      items: [
        ...(['left', 'right', 'up', 'down'] as const).map((to) => ({
          label: `To the ${SIDES[to]}`,
          onSelect: () => workspace.swap(to),
        })),
        'separator',
        { label: 'Larger', onSelect: () => workspace.grow(1) },
        { label: 'Smaller', onSelect: () => workspace.grow(-1) },
      ],
    },
    {
      label: shell ? 'Close, which ends the shell' : 'Close view, keep text',
      keys: chordName('W'),
      onSelect: workspace.close,
    },
  ]
}
