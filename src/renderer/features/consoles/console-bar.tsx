import { Keyboard, Play, Search } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cx } from '../../lib/class-names.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { TONE_TEXT } from '../../ui/state-word.tsx'
import { startVm } from '../vms/actions.ts'
import { vmActions } from '../vms/view-model.ts'
import { chordName } from './console-keys.ts'
import type { ConsoleState } from './console-session.ts'
import type { ConsoleStatus, PaneIdentity } from './view-model.ts'

interface BarProps {
  identity: PaneIdentity
  /** Absent = it is no console of a VM. */
  vm: Vm | undefined
  state: ConsoleState
  status: ConsoleStatus
  /** What the guest calls itself; empty = nothing. */
  title: string
  /** The pane has the focus, among others. */
  focused: boolean
  /** Typing goes to this pane and others. */
  receiving: boolean
  menu: ReactNode
  onFind: () => void
  onTakeKeyboard: () => void
  /** Only for one that was closed for good. */
  onOpenAgain: () => void
}

/** Head of a pane: whose console it is, how it is doing, and what can be done with it. */
export function ConsoleBar(props: BarProps) {
  const { identity, vm, state, status, title, focused, receiving } = props
  const others = state.link === 'live' && !status.off && !state.keyboard
  return (
    <header
      className={cx(
        'flex h-8 shrink-0 items-center gap-2 border-line border-b pr-1 pl-3',
        focused ? 'bg-hover text-ink' : 'bg-panel text-dim',
      )}
    >
      <p className="flex min-w-0 items-baseline gap-1.5 text-sm">
        <span className="shrink-0 truncate font-medium text-ink">{identity.name}</span>
        {title !== '' && <span className="min-w-0 truncate">“{title}”</span>}
        <span className="min-w-0 truncate text-faint">
          {identity.host !== '' && `@ ${identity.host} · `}
          {identity.line}
        </span>
      </p>
      <span
        role="status"
        title={[status.word, ...status.notes].join(' · ')}
        className={cx('flex min-w-16 items-center gap-1.5 text-xs', TONE_TEXT[status.tone])}
      >
        <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
        <span className="truncate">
          {status.word}
          {status.notes.map((note) => (
            <span key={note} className="text-dim">
              {' · '}
              {note}
            </span>
          ))}
        </span>
      </span>
      <div className="ml-auto flex shrink-0 items-center gap-1">
        {receiving && <span className="rounded bg-bad/10 px-1.5 py-0.5 font-medium text-bad text-xs">Receives</span>}
        {status.off && vm && vmActions(vm).start && (
          <Button size="small" onClick={() => void startVm(vm)}>
            <Play size={13} aria-hidden />
            Start
          </Button>
        )}
        {others && (
          <>
            <span className="rounded border border-line px-1.5 py-px text-xs">Read-only</span>
            <Button size="small" onClick={props.onTakeKeyboard} title="The one who has it is told">
              <Keyboard size={13} aria-hidden />
              Take keyboard
            </Button>
          </>
        )}
        {state.link === 'closed' && (
          <Button size="small" onClick={props.onOpenAgain}>
            {identity.line === 'shell' ? 'Open another' : 'Open again'}
          </Button>
        )}
        <IconButton
          label="Find in the console"
          title={`Find (${chordName('F')})`}
          onClick={props.onFind}
          className="size-6"
        >
          <Search size={13} aria-hidden />
        </IconButton>
        {props.menu}
      </div>
    </header>
  )
}
