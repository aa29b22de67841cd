import { fstatSync, statSync } from 'node:fs'
import { MiB } from '../../ipc/units.ts'
import { copyNow, cutOpen, writeOpen } from './files.ts'

/** The agent's own log starts afresh above this size; the one before stays beside it as `.1`, so twice this in all. */
export const LOG_LIMIT_BYTES = 8 * MiB

/**
 * Writes log lines to a file descriptor. A full disk or a reader that left costs the line, never the agent. Where the
 * descriptor is `ownLog`, opened for appending, it is kept within LOG_LIMIT_BYTES.
 */
export function logOutput(fd: number, ownLog: string): (line: string) => void {
  let size = sizeOfOwn(fd, ownLog)
  return (line) => {
    try {
      if (size !== undefined && size + Buffer.byteLength(line) > LOG_LIMIT_BYTES) {
        startAfresh(fd, ownLog)
        size = 0
      }
      const written = writeOpen('agent-log.append', fd, line)
      if (size !== undefined) size += written
    } catch {
      // There is nowhere left to say so.
    }
  }
}

/** Undefined = another file, a terminal or a journal: not ours to cut. */
function sizeOfOwn(fd: number, ownLog: string): number | undefined {
  try {
    const [open, own] = [fstatSync(fd), statSync(ownLog)]
    return open.isFile() && open.dev === own.dev && open.ino === own.ino ? open.size : undefined
  } catch {
    return undefined
  }
}

/** Copied and cut, not renamed: what the runtime itself says at a crash goes to the same descriptor. */
function startAfresh(fd: number, ownLog: string): void {
  try {
    copyNow('agent-log.rotate', ownLog, `${ownLog}.1`)
  } catch {
    // Its bound matters more than its past.
  }
  cutOpen('agent-log.cut', fd)
}
