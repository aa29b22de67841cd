import type { Duplex, Readable } from 'node:stream'
import type { TerminalSize } from '../../../../ipc/console-frames.ts'
import type { Fault } from '../../../../ipc/faults.ts'

/**
 * A command that runs on a host, whichever SSH client carries it. Emits `exit` (status, or null when a signal ended it)
 * before `close`; no `exit` = it was cut off.
 */
export interface CommandChannel extends Duplex {
  readonly stderr: Readable
  /** Why it was cut off, where that is known by then. */
  readonly lost?: Fault
  /** Tells its terminal another size. Absent = it has none, or this client cannot. */
  resize?: (size: TerminalSize) => void
  /** Ends the command from this side. Idempotent. */
  close(): void
}
