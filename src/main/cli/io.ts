import { closeSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'

/** What a command sees of its terminal and process, so that a test can be both. */
export interface CliIo {
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Writable & { isTTY?: boolean }
  readonly stderr: Writable & { isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whoever reads stdout sees its end; nothing can be written to it any more. */
  endOutput(): void
  /** Calls back at the first interrupt instead of dying of it; the next one ends the process. Returns its stop function. */
  onInterrupt(fn: () => void): () => void
}

/** One key press may arrive twice, from the terminal and from a parent that passes it on, ms. */
const ONE_PRESS_MS = 300
const ENDING_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

export interface EndableProcess {
  on(signal: NodeJS.Signals, fn: () => void): unknown
  off(signal: NodeJS.Signals, fn: () => void): unknown
  exit(code: number): void
}

export function processIo(): CliIo {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    // process.stdout cannot be ended: its end would be seen at the end of the process.
    endOutput: () => closeSync(1),
    onInterrupt: (fn) => onInterrupt(process, () => performance.now(), fn),
  }
}

/** The first signal asks `fn` to come to an end; another one does not wait for that. */
export function onInterrupt(proc: EndableProcess, monotonic: () => number, fn: () => void): () => void {
  let since: number | undefined
  const stops = Object.entries(ENDING_SIGNALS).map(([name, code]) => {
    const signal = name as keyof typeof ENDING_SIGNALS
    const heard = () => {
      const now = monotonic()
      if (since === undefined) {
        since = now
        fn()
      } else if (now - since >= ONE_PRESS_MS) proc.exit(code)
    }
    proc.on(signal, heard)
    return () => proc.off(signal, heard)
  })
  return () => {
    for (const stop of stops) stop()
  }
}

/** Resolves when the stream took it; rejects when nobody reads any more. */
export function write(stream: Writable, bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve())))
}
