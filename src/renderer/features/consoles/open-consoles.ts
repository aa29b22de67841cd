import { openConsoleDuplex } from '../../api/console-duplex.ts'
import { ConsoleWire } from '../../api/console-wire.ts'
import { usePreferences } from '../../state/preferences.ts'
import { ConsoleSession } from './console-session.ts'
import { type ConsoleTerminal, createConsoleTerminal } from './terminal.ts'

export interface OpenConsole extends ConsoleTerminal {
  session: ConsoleSession
}

/** Consoles kept with their text while other screens are shown; the one longest unseen gives way. */
const MAX_KEPT = 24
const wire = new ConsoleWire({ open: openConsoleDuplex })
const kept = new Map<string, OpenConsole>()

/** The console of a VM: opened once per window and kept, so that leaving its screen loses nothing. */
export function consoleOf(vmId: string): OpenConsole {
  const known = kept.get(vmId)
  if (known && known.session.state.link !== 'closed') {
    kept.delete(vmId)
    kept.set(vmId, known)
    return known
  }
  if (known) drop(vmId)
  const terminal = createConsoleTerminal(usePreferences.getState().screenReader)
  const session = new ConsoleSession(vmId, wire, terminal.terminal)
  const console: OpenConsole = { ...terminal, session }
  terminal.terminal.onData((text) => session.input(text, isByPerson() ? 'person' : 'terminal'))
  terminal.terminal.onBinary((text) => session.input(text, 'terminal'))
  kept.set(vmId, console)
  for (const [id, other] of kept) {
    if (kept.size <= MAX_KEPT) break
    if (!other.host.isConnected && id !== vmId) drop(id)
  }
  return console
}

export function drop(vmId: string): void {
  const known = kept.get(vmId)
  if (!known) return
  kept.delete(vmId)
  known.session.close()
  known.dispose()
}

/** xterm tells keys and its own answers apart nowhere; keys come while an input event of the page is being handled. */
function isByPerson(): boolean {
  const event = window.event
  return event instanceof UIEvent || event instanceof ClipboardEvent
}
