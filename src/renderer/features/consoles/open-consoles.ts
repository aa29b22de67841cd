import { openConsoleDuplex } from '../../api/console-duplex.ts'
import { ConsoleWire } from '../../api/console-wire.ts'
import { broadcastInput } from './broadcast.ts'
import { ConsoleSession, type SessionTarget } from './console-session.ts'
import { EscapeWatch } from './escape-watch.ts'
import { LineTimes } from './line-times.ts'
import { shownTitle } from './osc-policy.ts'
import { type ConsoleTerminal, createConsoleTerminal } from './terminal.ts'

/** What a guest said of itself, and what lies under the pointer. */
export interface ViewNotes {
  title: string
  link: string
  /** Characters a guest last put on the clipboard. */
  clipboard: number
}

export interface OpenConsole extends ConsoleTerminal {
  key: string
  session: ConsoleSession
  times: LineTimes
  escapes: EscapeWatch
  notes: ViewNotes
  subscribeNotes: (listener: () => void) => () => void
  /** Typed or pasted by a person: into this one, or into all where broadcast is on. */
  type: (text: string) => void
  /** As `type`, in brackets where the guest asked for them. */
  paste: (text: string) => void
}

/** Consoles kept with their text while nobody looks; the one longest unseen gives way, and comes back from the log of its host. */
const MAX_UNSEEN = 16
/** Left alone this long a console asks its host for nothing more. */
const REST_MS = 5_000
export const consoleWire = new ConsoleWire({ open: openConsoleDuplex })
const kept = new Map<string, OpenConsole>()
const resting = new Map<string, ReturnType<typeof setTimeout>>()

export const consoleKey = (vmId: string): string => `vm:${vmId}`

/** What a pane shows: opened once per window and kept, so that leaving its screen loses nothing. */
export function consoleOf(key: string, target: SessionTarget): OpenConsole {
  const known = kept.get(key)
  clearTimeout(resting.get(key))
  if (known) {
    kept.delete(key)
    kept.set(key, known)
    known.session.resume()
    return known
  }
  const console = made(key, target)
  kept.set(key, console)
  forgetUnseen(key)
  return console
}

/** Its place is gone from the screen. */
export function unseen(key: string): void {
  clearTimeout(resting.get(key))
  resting.set(
    key,
    setTimeout(() => {
      resting.delete(key)
      const known = kept.get(key)
      if (known && !known.host.isConnected) known.session.rest()
    }, REST_MS),
  )
}

/** Ends it for this window; a shell ends with it. */
export function drop(key: string): void {
  const known = kept.get(key)
  if (!known) return
  clearTimeout(resting.get(key))
  resting.delete(key)
  kept.delete(key)
  known.session.close()
  known.times.clear()
  known.dispose()
}

function forgetUnseen(but: string): void {
  const hidden = [...kept].filter(([key, { host, session }]) => {
    const idle = session.target.kind === 'console' || session.state.link === 'closed'
    return !host.isConnected && key !== but && idle
  })
  for (const [key] of hidden.slice(0, Math.max(0, hidden.length - MAX_UNSEEN))) drop(key)
}

function made(key: string, target: SessionTarget): OpenConsole {
  const listeners = new Set<() => void>()
  const note = (change: Partial<ViewNotes>) => {
    console.notes = { ...console.notes, ...change }
    for (const tell of listeners) tell()
  }
  const view = createConsoleTerminal({
    onLink: (link) => note({ link }),
    onClipboard: (text) => {
      void navigator.clipboard.writeText(text).catch(() => {})
      note({ clipboard: text.length })
    },
  })
  const { terminal } = view
  const times = new LineTimes(terminal)
  const escapes = new EscapeWatch()
  const session: ConsoleSession = new ConsoleSession(target, consoleWire, {
    write: (bytes, done, past) => {
      if (typeof bytes !== 'string') escapes.take(bytes, Date.now())
      // Where the cursor is by then is known once what came before is parsed.
      terminal.write('', () => times.mark(past ? undefined : Date.now()))
      terminal.write(bytes, done)
    },
  })
  const type = (text: string) => {
    // A shell that ended: Enter opens another.
    if (session.target.kind === 'shell' && session.state.link === 'closed') {
      if (text === '\r') session.reopen()
    } else if (!broadcastInput(session, text, Date.now())) session.input(text, 'person')
  }
  let pasting = false
  const paste = (text: string) => {
    pasting = true
    terminal.paste(text)
    pasting = false
  }
  terminal.onData((text) => (pasting || isByPerson() ? type(text) : session.input(text, 'terminal')))
  terminal.onBinary((text) => session.input(text, 'terminal'))
  terminal.onResize(({ rows, cols }) => session.resize({ rows, cols }))
  terminal.onTitleChange((title) => note({ title: shownTitle(title) }))
  const console: OpenConsole = {
    ...view,
    key,
    session,
    times,
    escapes,
    type,
    paste,
    notes: { title: '', link: '', clipboard: 0 },
    subscribeNotes: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return console
}

/** xterm tells keys and its own answers apart nowhere; keys come while an input event of the page is being handled. */
function isByPerson(): boolean {
  const event = window.event
  return event instanceof UIEvent || event instanceof ClipboardEvent
}
