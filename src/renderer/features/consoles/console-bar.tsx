import { ClipboardCopy, Keyboard, MoreHorizontal, Play, RotateCcw, Search, SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { TONE_TEXT } from '../../ui/state-word.tsx'
import { startVm } from '../vms/actions.ts'
import { vmActions } from '../vms/view-model.ts'
import type { ConsoleState } from './console-session.ts'
import type { ConsoleStatus } from './view-model.ts'

interface BarProps {
  vm: Vm
  state: ConsoleState
  status: ConsoleStatus
  onFind: () => void
  onCopyText: () => void
  onReset: () => void
  onTakeKeyboard: () => void
  /** Only for a console that was closed for good. */
  onOpenAgain: () => void
}

export function ConsoleBar({ vm, state, status, onFind, onCopyText, onReset, onTakeKeyboard, onOpenAgain }: BarProps) {
  const screenReader = usePreferences((p) => p.screenReader)
  const others = state.link === 'live' && !status.off && !state.keyboard
  return (
    <div className="flex h-9 shrink-0 items-center gap-3 border-line border-b px-3 text-ink">
      <SquareTerminal size={15} aria-hidden className="text-quiet" />
      <span className="font-medium">
        {vm.name} <span className="text-quiet">@ {vm.hostName}</span>
      </span>
      <span role="status" className={`flex min-w-0 items-center gap-1.5 text-xs ${TONE_TEXT[status.tone]}`}>
        <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
        <span className="truncate">
          {status.word}
          {status.notes.map((note) => (
            <span key={note} className="text-quiet">
              {' · '}
              {note}
            </span>
          ))}
        </span>
      </span>
      <div className="ml-auto flex items-center gap-1">
        {status.off && vmActions(vm).start && (
          <Button size="small" onClick={() => void startVm(vm)}>
            <Play size={13} aria-hidden />
            Start
          </Button>
        )}
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
