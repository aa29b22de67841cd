import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isId } from '../../../ipc/names.ts'

/** Beside the database, so that a store that lost its own knows whose hosts it had. No secret. */
const NAME = 'fleet-id'

/** The fleet whose store lies, or lay, in this place. Undefined = none ever did, as far as can be read. */
export function fleetBeside(file: string): string | undefined {
  try {
    const id = readFileSync(join(dirname(file), NAME), 'utf8').trim()
    return isId(id) ? id : undefined
  } catch {
    return undefined
  }
}

/** Whole or not at all; a disk that takes no more leaves what was there. */
export function keepFleetBeside(file: string, fleetId: string): void {
  if (fleetBeside(file) === fleetId) return
  const path = join(dirname(file), NAME)
  try {
    const fd = openSync(`${path}.new`, 'w', 0o600)
    try {
      writeSync(fd, `${fleetId}\n`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(`${path}.new`, path)
  } catch {
    // Said again at each start.
  }
}
