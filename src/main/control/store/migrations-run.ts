import type { DatabaseSync } from 'node:sqlite'
import { Fault } from '../../../ipc/faults.ts'
import { copyBeforeChange } from './backup.ts'
import { MIGRATIONS } from './migrations.ts'

export interface MigrationPlace {
  /** Undefined = in memory: nothing is kept aside. */
  file: string | undefined
  now: () => number
  migrations?: readonly string[]
}

/** Schema of an open file; 0 = it is new. */
export const schemaOf = (handle: DatabaseSync): number =>
  (handle.prepare('PRAGMA user_version').get() as { user_version: number }).user_version

/**
 * Brings a file to this version's schema, all of it or nothing, after a copy was made of what was there. Raises
 * store/newer without a write, and store/not-migrated: the file is as it was then.
 */
export function migrate(handle: DatabaseSync, { file, now, migrations = MIGRATIONS }: MigrationPlace): void {
  const from = schemaOf(handle)
  const to = migrations.length
  if (from > to) throw newerStore(from, to)
  if (from === to) return
  try {
    if (from > 0 && file !== undefined) copyBeforeChange(handle, file, from, now())
    handle.exec('BEGIN IMMEDIATE')
    for (const sql of migrations.slice(from)) handle.exec(sql)
    handle.exec(`PRAGMA user_version = ${to}; COMMIT`)
  } catch (cause) {
    if (handle.isTransaction) handle.exec('ROLLBACK')
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('store/not-migrated', 'permanent', { from: String(from), to: String(to), detail }, { cause })
  }
}

/** What to say to a file of a version that is not known here. */
export const newerStore = (schema: number, known: number): Fault =>
  new Fault('store/newer', 'permanent', { schema: String(schema), known: String(known) })
