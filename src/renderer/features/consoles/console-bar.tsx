import { ClipboardCopy, Keyboard, MoreHorizontal, RotateCcw, Search, SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import type { ConsoleState } from './console-session.ts'

const LINK: Record<ConsoleState['link'], { word: string; className: string }> = {
  opening: { word: 'Opening', className: 'text-info' },
  live: { word: 'Live', className: 'text-good' },
  reconnecting: { word: 'Reconnecting, text kept', className: 'text-warn' },
  stopped: { word: 'Off: goes on when the VM starts', className: 'text-quiet' },
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
  /** Only for a console that was closed for good. */
  onOpenAgain: () => void
}

export function ConsoleBar({ vm, state, onFind, onCopyText, onReset, onTakeKeyboard, onOpenAgain }: BarProps) {
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
          {state.silent && state.link === 'live' && <span className="text-quiet"> · nothing printed yet</span>}
        </span>
      </span>
      <div className="ml-auto flex items-center gap-1">
        {others && (
          <Button size="small" onClick={onTakeKeyboard}>
            <Keyboard size={13} aria-hidden />
            Take keyboard
          </Button>
        )}
        {state.link === 'closed' && (
          <Button size="small" onClick={onOpenAgain}>
            Open again
          </Button>
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
