import type { Readable, Writable } from 'node:stream'

/** What a command sees of its terminal and process, so that a test can be both. */
export interface CliIo {
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Writable & { isTTY?: boolean }
  readonly stderr: Writable & { isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Calls back at each interrupt instead of dying of it; returns its stop function. */
  onInterrupt(fn: () => void): () => void
}

export function processIo(): CliIo {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    onInterrupt(fn) {
      process.on('SIGINT', fn)
      process.on('SIGTERM', fn)
      return () => {
        process.off('SIGINT', fn)
        process.off('SIGTERM', fn)
      }
    },
  }
}

/** Resolves when the stream took it; rejects when nobody reads any more. */
export function write(stream: Writable, bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve())))
}
