import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { MiB } from '../../ipc/units.ts'

/** A log file is set aside as `.1` past this; one older is kept. */
const MAX_BYTES = 8 * MiB

/** Appends lines to a 0600 file that never grows past 8 MiB. Raises store/unavailable when it cannot be opened. */
export function logFile(path: string, maxBytes = MAX_BYTES): (line: string) => void {
  let fd = opened(path)
  let size = fstatSync(fd).size
  return (line) => {
    try {
      if (size + line.length > maxBytes) {
        renameSync(path, `${path}.1`)
        const full = fd
        fd = opened(path)
        size = 0
        closeSync(full)
      }
      size += writeSync(fd, line)
    } catch {
      // A full disk must not stop the fleet; there is nowhere left to say so.
    }
  }
}

function opened(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return openSync(path, 'a', 0o600)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('store/unavailable', 'permanent', { detail }, { cause: error })
  }
}
