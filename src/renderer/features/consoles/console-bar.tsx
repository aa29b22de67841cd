import { ClipboardCopy, Keyboard, MoreHorizontal, RotateCcw, Search, SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import type { ConsoleState } from './console-session.ts'

const LINK: Record<ConsoleState['link'], { word: string; className: string }> = {
  opening: { word: 'Opening', className: 'text-info' },
  live: { word: 'Live', className: 'text-good' },
  reconnecting: { word: 'Reconnecting, text kept', className: 'text-warn' },
  stopped: { word: 'The VM is off; this goes on when it starts', className: 'text-quiet' },
  lost: { word: 'Eitri is not answering, text kept', className: 'text-warn' },
  closed: { word: 'Closed, text kept', className: 'text-bad' },
}

interface BarProps {
  vm: Vm
  state: ConsoleState
  onFind: () => void
  onCopyText: () => void
  onReset: () => void
  onTakeKeyboard: () => void
}

export function ConsoleBar({ vm, state, onFind, onCopyText, onReset, onTakeKeyboard }: BarProps) {
  const link = LINK[state.link]
  const screenReader = usePreferences((p) => p.screenReader)
  const others = state.link === 'live' && !state.keyboard
  return (
    <div className="flex h-9 shrink-0 items-center gap-3 border-line border-b px-3 text-ink">
      <SquareTerminal size={15} aria-hidden className="text-quiet" />
      <span className="font-medium">
        {vm.name} <span className="text-quiet">@ {vm.hostName}</span>
      </span>
      <span role="status" className={`flex min-w-0 items-center gap-1.5 text-xs ${link.className}`}>
        <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
        <span className="truncate">
          {link.word}
          {state.detail && <span className="text-quiet"> · {state.detail}</span>}
          {state.replaying && <span className="text-quiet"> · replaying</span>}
        </span>
      </span>
      <div className="ml-auto flex items-center gap-1">
        {others && (
          <button
            type="button"
            onClick={onTakeKeyboard}
            className="flex h-6 items-center gap-1.5 rounded-md border border-line-strong px-2 text-xs hover:bg-hover"
          >
            <Keyboard size={13} aria-hidden />
            Take keyboard
          </button>
        )}
        <IconButton label="Find in the console" onClick={onFind}>
          <Search size={14} aria-hidden />
        </IconButton>
        <Menu
          trigger={
            <IconButton label="Console actions">
              <MoreHorizontal size={15} aria-hidden />
            </IconButton>
          }
          items={[
            { label: 'Copy as text', icon: <ClipboardCopy size={14} />, onSelect: onCopyText },
            { label: 'Reset view', icon: <RotateCcw size={14} />, onSelect: onReset },
            'separator',
            {
              label: 'Screen reader mode',
              checked: screenReader,
              onSelect: () => setPreference('screenReader', !screenReader),
            },
          ]}
        />
      </div>
    </div>
  )
}
