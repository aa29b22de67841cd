import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { access } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import type { FolderWatch } from './folder-watch.ts'
import type { RunFolder } from './run-folder.ts'

export interface MasterOptions {
  folder: RunFolder
  changes: Pick<FolderWatch, 'until'>
  /** Of ssh. */
  args: string[]
  env: NodeJS.ProcessEnv
  /** What its end means, from all it said. */
  faultOf(said: string): Fault
  signal: AbortSignal
}

/** The one ssh of a connection. Whoever started it ends it. */
export interface Master {
  /** Resolves when it is signed in. Rejects with the fault of its end, or the signal's reason. */
  readonly ready: Promise<void>
  /** Aborts when it ended, with the fault. */
  readonly gone: AbortSignal
  /** Its own words so far, at most 16 KiB. */
  said(): string
  /** Ends it and all it started, for this reason. Idempotent. */
  end(reason: Fault): void
}

const SAID_CHARS = 16 * KiB
const LAST_WORDS_MS = 1_000
/** From a polite end to a forced one. */
const END_GRACE_MS = 2_000

/** Starts ssh so that it ends with this process, however this one ends. */
export function startMaster({ folder, changes, args, env, faultOf, signal }: MasterOptions): Master {
  const child: ChildProcessByStdio<Writable, null, Readable> = spawn(folder.heldProgram, ['ssh', ...args], {
    env,
    // A session of its own: no terminal to ask on, and one group to end.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const gone = new AbortController()
  let said = ''
  let reason: Fault | undefined
  let force: NodeJS.Timeout | undefined
  const over = (fault: Fault) => {
    if (gone.signal.aborted) return
    clearTimeout(force)
    child.stdin.destroy()
    gone.abort(fault)
  }
  const kill = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name)
    } catch {
      // It ended by itself.
    }
  }
  const end = (why: Fault) => {
    if (gone.signal.aborted || reason) return
    reason = why
    child.stdin.destroy()
    kill('SIGTERM')
    force = setTimeout(() => kill('SIGKILL'), END_GRACE_MS)
  }
  child.stdin.on('error', () => {})
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-SAID_CHARS)
  })
  child.on('error', (cause: NodeJS.ErrnoException) => over(cannotStart(cause)))
  child.on('close', () => over(reason ?? faultOf(said)))
  // What it left running may hold its stderr.
  child.on('exit', () => setTimeout(() => over(reason ?? faultOf(said)), LAST_WORDS_MS).unref())
  const abort = () => end(signal.reason instanceof Fault ? signal.reason : new Fault('app/cancelled', 'cancelled'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const isThere = () =>
    access(folder.controlSocket).then(
      () => true as const,
      () => undefined,
    )
  const ready = changes
    .until(isThere, gone.signal)
    .then(() => {})
    .finally(() => signal.removeEventListener('abort', abort))
  ready.catch(() => {})
  return { ready, gone: gone.signal, said: () => said, end }
}

const cannotStart = (cause: NodeJS.ErrnoException) =>
  new Fault(
    'app/part-missing',
    'permanent',
    { part: "The system's ssh", next: `It cannot be started here (${cause.code ?? cause.message}).` },
    { cause },
  )
