import type { Readable } from 'node:stream'
import type { ClientChannel } from 'ssh2'

interface Pushing {
  push(chunk: Buffer | null): boolean
}

/**
 * Ends the connection at the first byte past the channel's window, which ssh2 itself does not enforce: a peer that
 * ignores it could fill this process's memory.
 */
export function withinWindow<T extends ClientChannel>(channel: T, overrun: () => void): T {
  const { incoming } = channel as unknown as { incoming: { window: number } }
  const guard = (stream: Readable & Pushing) => {
    const push = stream.push.bind(stream)
    stream.push = (chunk: Buffer | null) => {
      if (chunk === null || incoming.window >= 0) return push(chunk)
      overrun()
      return false
    }
  }
  guard(channel as unknown as Readable & Pushing)
  if (channel.stderr as Readable | undefined) guard(channel.stderr as unknown as Readable & Pushing)
  return channel
}
