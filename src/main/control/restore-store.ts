import { existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { ControlPaths } from './ports.ts'
import { needsOf } from './rebuild/restore-needs.ts'
import { besides, setAside, synced, writeCopy } from './store/backup.ts'
import { type Look, lookAtStore, openReading } from './store/integrity.ts'
import { MIGRATIONS } from './store/migrations.ts'
import { migrate } from './store/migrations-run.ts'
import { openStores } from './store/stores.ts'

export interface Restored {
  /** Of the database that is in use now. */
  path: string
  /** Where the one before is. Empty = there was none. */
  keptAt: string
  /** Of the copy, before it was brought to this version's. */
  schema: number
  hosts: number
  vms: number
  needs: string[]
}

/**
 * Puts a copy in the place of the database, which is kept. Whoever calls holds the lock on the data folder. A host that
 * has seen newer data than the copy is sent nothing until a person decides. Raises store/not-restored with nothing changed.
 */
export function restoreStore(from: string, paths: Pick<ControlPaths, 'database' | 'caKeys'>, now: number): Restored {
  const { database: file } = paths
  const schema = checked(from, file)
  const fresh = `${file}.restoring`
  try {
    removed(fresh)
    copy(from, fresh)
    prepare(fresh, now)
    settle(file)
    const keptAt = existsSync(file) ? besides(file, 'replaced', now) : ''
    // Before it is in use: nothing that may fail comes after.
    const found = opened(fresh, paths, { from, keptAt, now })
    setAside(file, 'replaced', now)
    renameSync(fresh, file)
    synced(dirname(file))
    return { path: file, keptAt, schema, ...found }
  } catch (error) {
    removed(fresh)
    throw error
  }
}

function removed(fresh: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${fresh}${end}`, { force: true })
}

const refusing = (file: string) => (detail: string) => new Fault('store/not-restored', 'permanent', { file, detail })

function checked(from: string, file: string): number {
  const refuse = refusing(from)
  if (!isFile(from)) throw refuse('there is no such file')
  if (existsSync(file) && realpathSync(from) === realpathSync(file)) throw refuse('it is the database itself')
  const look = lookedAt(from, refuse)
  if (look.kind === 'sound' && look.schema > 0) return look.schema
  if (look.kind === 'newer')
    throw new Fault('store/not-restored', 'permanent', {
      file: from,
      detail: `it is of a newer version: schema ${look.schema}, this version knows ${MIGRATIONS.length}`,
      next: 'Put it back with that version.',
    })
  throw refuse(look.kind === 'damaged' ? `it is damaged: ${look.reason}` : 'it is empty')
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function lookedAt(from: string, refuse: (detail: string) => Fault): Look {
  try {
    return lookAtStore(from, { fromElsewhere: true })
  } catch (error) {
    throw refuse(asFault(error).params['detail'] ?? 'it cannot be read')
  }
}

/** What stands only in a log beside it comes along. */
function copy(from: string, fresh: string): void {
  const source = openReading(from)
  try {
    writeCopy(source.handle, fresh)
  } finally {
    source.close()
  }
}

/** Brought to this version's schema before it is in use. A host it has sent nothing to yet may have been sent much since. */
function prepare(fresh: string, now: number): void {
  const handle = new DatabaseSync(fresh)
  try {
    handle.exec('PRAGMA foreign_keys = ON')
    migrate(handle, { file: undefined, now: () => now })
    handle.exec('UPDATE hosts SET sent_epoch = 1 WHERE sent_epoch = 0')
  } finally {
    handle.close()
  }
}

/** Brings what stands only in the log of the one before into its file; a damaged one is left as it is. */
function settle(file: string): void {
  if (!['sound', 'newer'].includes(lookAtStore(file).kind)) return
  const handle = new DatabaseSync(file)
  try {
    handle.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    handle.close()
  }
}

function opened(
  fresh: string,
  paths: Pick<ControlPaths, 'caKeys'>,
  { from, keptAt, now }: { from: string; keptAt: string; now: number },
) {
  const stores = openStores(fresh, { now: () => now })
  try {
    // Older rows are held against what rows must be only now that they are of this version.
    if (stores.db.damage) throw refusing(from)(`it is damaged: ${stores.db.damage.reason}`)
    stores.audit.add({ action: 'store.restore', tenant: 'system', detail: { from, kept_at: keptAt } })
    const [hosts, vms] = [stores.hosts.listAll().length, stores.vms.listAll().length]
    return { hosts, vms, needs: needsOf(stores, paths) }
  } finally {
    stores.db.close()
  }
}
