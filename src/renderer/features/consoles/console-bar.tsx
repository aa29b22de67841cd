import { ClipboardCopy, Keyboard, MoreHorizontal, RotateCcw, Search, SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import type { ConsoleState } from './console-session.ts'

const LINK: Record<ConsoleState['link'], { word: string; className: string }> = {
  opening: { word: 'Opening', className: 'text-[#79aeff]' },
  live: { word: 'Live', className: 'text-[#58c98b]' },
  reconnecting: { word: 'Reconnecting, text kept', className: 'text-[#e8b04a]' },
  stopped: { word: 'The VM is off; this goes on when it starts', className: 'text-[#98a2b1]' },
  lost: { word: 'Eitri is not answering, text kept', className: 'text-[#e8b04a]' },
  closed: { word: 'Closed, text kept', className: 'text-[#ff8078]' },
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
  const iconClass = 'text-[#aab3c0] hover:bg-white/10 hover:text-white data-[state=open]:bg-white/10'
  return (
    <div className="flex h-9 shrink-0 items-center gap-3 border-white/10 border-b px-3 text-[#d7dce3]">
      <SquareTerminal size={15} aria-hidden className="text-[#98a2b1]" />
      <span className="font-medium">
        {vm.name} <span className="text-[#98a2b1]">@ {vm.hostName}</span>
      </span>
      <span role="status" className={`flex min-w-0 items-center gap-1.5 text-xs ${link.className}`}>
        <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
        <span className="truncate">
          {link.word}
          {state.detail && <span className="text-[#98a2b1]"> · {state.detail}</span>}
          {state.replaying && <span className="text-[#98a2b1]"> · replaying</span>}
        </span>
      </span>
      <div className="ml-auto flex items-center gap-1">
        {others && (
          <button
            type="button"
            onClick={onTakeKeyboard}
            className="flex h-6 items-center gap-1.5 rounded-md border border-white/25 px-2 text-xs hover:bg-white/10"
          >
            <Keyboard size={13} aria-hidden />
            Take keyboard
          </button>
        )}
        <IconButton label="Find in the console" className={iconClass} onClick={onFind}>
          <Search size={14} aria-hidden />
        </IconButton>
        <Menu
          trigger={
            <IconButton label="Console actions" className={iconClass}>
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
