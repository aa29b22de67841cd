import type { CommandChannel } from './channel.ts'
import type { ExecWay } from './channels.ts'
import type { SshConnection } from './connection.ts'

/** A command's channel. Rejects with the signal's reason once it aborts; a channel that comes later is ended at once. */
export function openCommand(
  connection: Pick<SshConnection, 'exec'>,
  command: string,
  signal: AbortSignal,
  way?: ExecWay,
): Promise<CommandChannel> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    connection
      .exec(command, way)
      .then((channel) => {
        if (signal.aborted) channel.on('error', () => {}).destroy()
        else resolve(channel)
      }, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
