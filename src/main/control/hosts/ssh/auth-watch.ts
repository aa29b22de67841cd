import type { Duplex } from 'node:stream'
import type { Client } from 'ssh2'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'

const GREETING_BYTES = KiB

type OnFailure = (protocol: unknown, methods: string[], partial: boolean) => void

/**
 * Calls `heard` for each failure the server sends. ssh2 hands its auth handler those of an agent's keys not at all: a
 * step that is done (publickey of two) would look like a refusal. Right after `connect`.
 */
export function watchFailures(client: Client, heard: (methods: string[], partial: boolean) => void): void {
  const { _protocol } = client as unknown as { _protocol?: { _handlers?: { USERAUTH_FAILURE?: OnFailure } } }
  const handlers = _protocol?._handlers
  const own = handlers?.USERAUTH_FAILURE
  if (!handlers || !own) throw new Fault('app/bug', 'bug', { message: 'ssh2 has changed inside' })
  handlers.USERAUTH_FAILURE = (protocol, methods, partial) => {
    heard(methods, partial)
    own(protocol, methods, partial)
  }
}

/** What the server sends before its version line, at most 1 KiB; ssh2 tells that only when the line comes. */
export function watchGreeting(socket: Duplex, onText: (text: string, version: boolean) => void): void {
  let text = ''
  const read = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const at = text.search(/^SSH-/m)
    if (at >= 0 || text.length > GREETING_BYTES) socket.off('data', read)
    onText(text.slice(0, at >= 0 ? at : GREETING_BYTES), at >= 0)
  }
  socket.on('data', read)
}
