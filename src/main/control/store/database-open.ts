import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault, findFault } from '../../../ipc/faults.ts'
import { Database, type Opened } from './database.ts'
import { fleetBeside } from './fleet-beside.ts'
import { lookAtStore, saysDamaged } from './integrity.ts'
import { salvage } from './integrity-salvage.ts'
import { MIGRATIONS } from './migrations.ts'
import { migrate, newerStore } from './migrations-run.ts'

const BUSY_TIMEOUT_MS = 5_000
const IN_MEMORY = ':memory:'

/**
 * Opens a store's file, or makes it. A damaged one is left as it is: what can be read of it is served from memory.
 * Raises store/newer, store/not-migrated and store/unavailable, each without a change to the file.
 */
export function openDatabase(file: string, now: () => number = Date.now): Database {
  return new Database(file === IN_MEMORY ? inMemory(now) : openFile(file, now))
}

/** The file of a store as a connection; raises what `openDatabase` does. */
export function openFile(file: string, now: () => number): Opened {
  ready(file)
  const look = lookAtStore(file)
  if (look.kind === 'newer') throw newerStore(look.schema, MIGRATIONS.length)
  if (look.kind === 'damaged') return salvaged(file, look.reason)
  if (look.kind === 'absent' && fleetBeside(file) !== undefined)
    return salvaged(file, existsSync(file) ? 'its file is empty' : 'its file is gone')
  try {
    return { handle: writable(file, now), salvage: (reason) => salvaged(file, reason) }
  } catch (error) {
    if (!saysDamaged(error)) throw unavailable(error)
    return salvaged(file, error instanceof Error ? error.message : String(error))
  }
}

function inMemory(now: () => number): Opened {
  const handle = new DatabaseSync(IN_MEMORY)
  handle.exec('PRAGMA foreign_keys = ON')
  migrate(handle, { file: undefined, now })
  return { handle }
}

function salvaged(file: string, reason: string): Opened {
  const { handle, lost } = salvage(file)
  return { handle, damage: { reason, lost } }
}

function ready(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unavailable(error)
  }
}

function writable(file: string, now: () => number): DatabaseSync {
  const handle = new DatabaseSync(file)
  try {
    chmodSync(file, 0o600)
    handle.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    handle.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    migrate(handle, { file, now })
    return handle
  } catch (error) {
    handle.close()
    throw error
  }
}

function unavailable(error: unknown): unknown {
  if (findFault(error)) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new Fault('store/unavailable', 'transient', { detail }, { cause: error })
}
