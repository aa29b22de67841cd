import { RotateCcw } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { useNow } from '../../state/now.ts'
import { usePreferences } from '../../state/preferences.ts'
import { useHost, useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { canReceive, joinBroadcast, useBroadcast } from './broadcast.ts'
import { ConsoleBar } from './console-bar.tsx'
import { ConsoleFind } from './console-find.tsx'
import { chordName } from './console-keys.ts'
import { LiveTail } from './live-tail.tsx'
import type { OpenConsole } from './open-consoles.ts'
import type { WorkspaceActs } from './pane-acts.ts'
import { usePaneActs } from './pane-acts.ts'
import { PaneFooter } from './pane-footer.tsx'
import { PaneMenu } from './pane-menu.tsx'
import { PaneSheets } from './pane-sheets.tsx'
import { isLeftScreen } from './terminal-text.ts'
import { TimeGutter } from './time-gutter.tsx'
import { useConsoleNotes, useConsoleState, useOpenConsole } from './use-open-console.ts'
import { useTerminalPlace } from './use-terminal-place.ts'
import { consoleStatus, paneIdentity, sessionTarget, shellStatus, stuckWhy } from './view-model.ts'
import type { PaneTarget } from './workspace-layout.ts'

interface ConsolePaneProps {
  /** Of what is shown here, unique in the window. */
  paneKey: string
  target: PaneTarget
  focused: boolean
  /** Absent = it stands alone. */
  workspace?: WorkspaceActs
}

/** One console or shell with its head, its text and what can be done with it. */
export function ConsolePane({ paneKey, target, focused, workspace }: ConsolePaneProps) {
  const console = useOpenConsole(paneKey, sessionTarget(target))
  const vm = useVm(target.kind === 'console' ? target.vmId : target.id)
  const host = useHost(target.kind === 'shell' ? target.id : '')
  const state = useConsoleState(console)
  const notes = useConsoleNotes(console)
  const now = useNow()
  const { timestamps } = usePreferences((p) => p.terminal)
  const help = useId()
  const identity = paneIdentity(target, vm, host)
  const status =
    state &&
    (target.kind === 'console' ? consoleStatus(vm, state, console?.session.printedAtMs, now) : shellStatus(state))
  const off = status?.off ?? false
  const { acts, sheet, setSheet, menu, setMenu, pasted } = usePaneActs(console, { target, state, workspace })
  const place = useTerminalPlace(console, {
    keys: () => ({ ...acts, leave: () => leave(place.current), actions: () => setMenu(true), ...chords(workspace) }),
    onPaste: pasted,
    cursor: !off && state?.link !== 'closed',
    autoFocus: focused,
    describedBy: help,
  })
  const receiving = useReceiving(console, workspace ? { key: paneKey, name: identity.name } : undefined)
  useFocus(console, focused, menu || sheet !== undefined)
  const stuck = useStuck(console, now)
  if (!console || !state || !status || !notes) return null
  const back = () => console.terminal.focus()
  return (
    <section
      aria-label={`${target.kind === 'console' ? 'Console' : 'Shell'} of ${identity.name}`}
      className={cx('flex h-full min-h-0 min-w-0 flex-col', receiving && 'outline-2 outline-bad -outline-offset-2')}
      data-console-focused={focused || undefined}
      onFocus={() => workspace?.focused()}
    >
      <ConsoleBar
        identity={identity}
        vm={target.kind === 'console' ? vm : undefined}
        state={state}
        status={status}
        title={notes.title}
        focused={focused && workspace !== undefined}
        receiving={receiving}
        onFind={acts.find}
        onTakeKeyboard={() => {
          console.session.takeKeyboard()
          back()
        }}
        onOpenAgain={() => {
          console.session.reopen()
          back()
        }}
        menu={
          <PaneMenu acts={acts} open={menu} onOpenChange={setMenu} onClosed={() => sheet === undefined && back()} />
        }
      />
      {sheet === 'find' && (
        <ConsoleFind
          search={console.search}
          onClose={() => {
            setSheet(undefined)
            back()
          }}
        />
      )}
      <LiveTail notShown={state.notShown} onOpen={acts.readLog} onDismiss={() => console.session.forgetNotShown()} />
      {stuck !== '' && (
        <p
          role="status"
          className="flex shrink-0 items-center gap-3 border-line border-b bg-panel px-3 py-1 text-warn text-xs"
        >
          <span className="min-w-0 flex-1">{stuck}</span>
          <Button size="small" onClick={acts.reset} title="Only this view; the guest is not touched">
            <RotateCcw size={12} aria-hidden />
            Reset view
          </Button>
        </p>
      )}
      <div className="flex min-h-0 flex-1" style={{ background: console.terminal.options.theme?.background }}>
        {timestamps && <TimeGutter console={console} />}
        <div ref={place} className="h-full min-w-0 flex-1" />
      </div>
      <p id={help} className="sr-only">
        {`${identity.name}. Keys go to the guest. F6 leaves, ${chordName('P')} shows actions, ${chordName('M')} lets Tab leave${
          acts.tabLeaves ? ', which it does now' : ''
        }.`}
      </p>
      <PaneFooter console={console} state={state} notes={notes} tabLeaves={acts.tabLeaves} />
      <PaneSheets
        console={console}
        sheet={sheet}
        name={identity.name}
        vmId={target.kind === 'console' ? target.vmId : ''}
        onSave={acts.saveLog}
        onClose={() => {
          setSheet(undefined)
          back()
        }}
      />
    </section>
  )
}

const leave = (home: HTMLElement | null) =>
  home?.closest('main')?.querySelector<HTMLElement>('header a, header button')?.focus()

/** The chords that only a workspace has. */
function chords(workspace: WorkspaceActs | undefined) {
  if (!workspace) return {}
  const { newTab, splitRight, splitDown, close, move } = workspace
  return { newTab, splitRight, splitDown, closeView: close, move }
}

/** Whether what is typed in another pane comes here too. */
function useReceiving(console: OpenConsole | undefined, pane: { key: string; name: string } | undefined): boolean {
  const session = console?.session
  const { key = '', name = '' } = pane ?? {}
  useEffect(() => (session && key !== '' ? joinBroadcast(key, session, name) : undefined), [session, key, name])
  return useBroadcast((b) => b.on && b.panes.has(key) && session !== undefined && canReceive(session))
}

/** The keyboard goes to the pane that is chosen, once, and not while something of it is open. */
function useFocus(console: OpenConsole | undefined, focused: boolean, busy: boolean): void {
  const had = useRef(focused)
  useEffect(() => {
    if (console && focused && !had.current && !busy) console.terminal.focus()
    had.current = focused
  }, [console, focused, busy])
}

/** Why it shows nothing more; empty = it does. */
function useStuck(console: OpenConsole | undefined, now: number): string {
  const [leftAt, setLeftAt] = useState<number>()
  const left = console !== undefined && isLeftScreen(console.terminal)
  useEffect(() => setLeftAt(left ? Date.now() : undefined), [left])
  return console ? stuckWhy(console.escapes.openSinceMs, left ? leftAt : undefined, now) : ''
}
