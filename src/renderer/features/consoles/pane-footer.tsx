import { formatBytes } from '../../lib/format.ts'
import { chordName } from './console-keys.ts'
import type { ConsoleState } from './console-session.ts'
import type { OpenConsole, ViewNotes } from './open-consoles.ts'

interface PaneFooterProps {
  console: OpenConsole
  state: ConsoleState
  notes: ViewNotes
  tabLeaves: boolean
}

/** How to leave, what a link leads to, and what is known of the line. */
export function PaneFooter({ console: { terminal, session }, state, notes, tabLeaves }: PaneFooterProps) {
  const shell = session.target.kind === 'shell'
  return (
    <p className="flex h-6 shrink-0 items-center gap-3 overflow-hidden whitespace-nowrap border-line border-t bg-panel px-3 text-dim text-xs [&_kbd]:font-sans [&_kbd]:text-ink">
      {notes.link === '' ? (
        <>
          <span>
            <kbd>F6</kbd> leave console
          </span>
          <span>
            <kbd>{chordName('P')}</kbd> actions
          </span>
          {tabLeaves && <span>Tab leaves</span>}
          {notes.clipboard > 0 && <span className="text-warn">The guest wrote the clipboard</span>}
        </>
      ) : (
        <span className="min-w-0 truncate text-ink">Opens {notes.link}</span>
      )}
      <span className="ml-auto min-w-0 truncate tabular-nums">
        {terminal.cols}×{terminal.rows}
        {shell && !state.resizes && state.link === 'live' && ' · fit by hand'}
        {' · UTF-8'}
        {!shell && ` · log on host ${formatBytes(session.loggedBytes)}`}
      </span>
    </p>
  )
}
