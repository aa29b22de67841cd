import type { Duplex } from 'node:stream'
import type { ShellPlace, TerminalSize } from '../../../ipc/console-frames.ts'

/** A login shell that runs somewhere, with a terminal of its own. */
export interface Shell {
  /** Bytes of its terminal, both ways. Whoever opened it destroys it. */
  readonly channel: Duplex
  /** Whose it is, for people: `root@web`, `rack2-07`. */
  readonly title: string
  /** Absent = its size stays as it was opened. */
  resize?: (size: TerminalSize) => void
  /** Resolves once with why it ended, in words; never rejects. */
  readonly ended: Promise<string>
}

/** Opens shells in VMs and on hosts of a tenant. Raises the fault of what is in the way; `signal` gives up. */
export type OpenShell = (tenant: string, place: ShellPlace, size: TerminalSize, signal: AbortSignal) => Promise<Shell>
