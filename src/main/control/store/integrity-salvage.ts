import { closeSync, copyFileSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { fleetBeside } from './fleet-beside.ts'
import { columnsOf, openReading, tablesOf } from './integrity.ts'
import { MIGRATIONS } from './migrations.ts'
import { SOUND_ROWS } from './migrations-invariants.ts'

/** Of one table; those made last count. What is left out stays in the damaged file. */
const MAX_ROWS = 100_000
/** Rows tried one by one between those that are read from both ends. */
const MAX_PROBES = 10_000
const MAX_LOST = 20
const PAGE_BYTES = 4096
const HEADER_BYTES = 100

const NOUNS: Readonly<Record<string, string>> = {
  settings: 'settings',
  host_keys: 'accepted host keys',
  vms: 'VMs',
  exposures: 'published ports',
  audit: 'audit entries',
  cas: 'SSH authorities',
  revoked_certificates: 'revoked certificates',
  join_tokens: 'join blobs',
}
const noun = (table: string) => NOUNS[table] ?? table

type Source = ReturnType<typeof openReading>
type Read = Record<string, SQLInputValue>

/** All that can be read of a damaged file, as a whole store in memory; the file is not written. `lost` are sentences. */
export function salvage(file: string): { handle: DatabaseSync; lost: string[] } {
  const handle = new DatabaseSync(':memory:')
  for (const sql of MIGRATIONS) handle.exec(sql)
  handle.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  const triggers = withoutTriggers(handle)
  const lost: string[] = []
  const source = readable(file)
  if (source) {
    handle.exec('BEGIN')
    for (const table of tablesOf(handle)) takeTable(source.handle, handle, table, lost)
    dropUnsound(handle, lost)
    handle.exec('COMMIT')
    source.close()
  } else lost.push('Nothing of it could be read.')
  const fleet = fleetBeside(file)
  if (fleet !== undefined)
    handle.prepare("INSERT OR IGNORE INTO settings (key, value) VALUES ('fleet_id', $fleet)").run({ fleet })
  for (const sql of triggers) handle.exec(sql)
  handle.exec('PRAGMA foreign_keys = ON')
  return { handle, lost: lost.slice(0, MAX_LOST) }
}

/** Rows that were there once are put back as they were: nothing follows from them. */
function withoutTriggers(handle: DatabaseSync): string[] {
  handle.exec('PRAGMA foreign_keys = OFF')
  const triggers = handle.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid").all()
  for (const { name } of triggers) handle.exec(`DROP TRIGGER ${name}`)
  return triggers.map(({ sql }) => String(sql))
}

/** Undefined = not even its list of tables can be read. */
function readable(file: string): Source | undefined {
  return openedSource(file) ?? withHeader(file)
}

function openedSource(file: string): Source | undefined {
  let source: Source | undefined
  try {
    source = openReading(file)
    if (tablesOf(source.handle).length > 0) return source
  } catch {
    // Not this way.
  }
  source?.close()
  return undefined
}

/** A copy with the first bytes of every store in place of those that were overwritten. */
function withHeader(file: string): Source | undefined {
  const copy = `${file}.header`
  try {
    copyFileSync(file, copy)
    const source = putHeader(copy) ? openedSource(copy) : undefined
    if (source)
      return {
        handle: source.handle,
        close() {
          source.close()
          rmSync(copy, { force: true })
        },
      }
  } catch {
    // A disk without room, or no file.
  }
  rmSync(copy, { force: true })
  return undefined
}

/** False = the first page is no root of a table, whatever stands before it. */
function putHeader(path: string): boolean {
  const fd = openSync(path, 'r+')
  try {
    const page = Buffer.alloc(PAGE_BYTES)
    if (readSync(fd, page, 0, PAGE_BYTES, 0) < PAGE_BYTES) return false
    if (page[HEADER_BYTES] !== 0x0d && page[HEADER_BYTES] !== 0x05) return false
    const header = Buffer.alloc(HEADER_BYTES)
    header.write('SQLite format 3\0', 0, 'latin1')
    header.writeUInt16BE(PAGE_BYTES, 16)
    // Rollback journal, payload fractions, schema format 4, UTF-8.
    header.set([1, 1, 0, 64, 32, 32], 18)
    header.writeUInt32BE(4, 44)
    header.writeUInt32BE(1, 56)
    writeSync(fd, header, 0, HEADER_BYTES, 0)
    return true
  } finally {
    closeSync(fd)
  }
}

function takeTable(from: DatabaseSync, to: DatabaseSync, table: string, lost: string[]): void {
  let columns: string[]
  try {
    const there = new Set(columnsOf(from, table))
    columns = columnsOf(to, table).filter((column) => there.has(column))
  } catch {
    columns = []
  }
  if (columns.length === 0) return
  const names = columns.map((column) => `"${column}"`)
  const put = to.prepare(
    `INSERT OR ${table === 'tenants' ? 'REPLACE' : 'IGNORE'} INTO ${table} (${names}) VALUES (${columns.map((_, i) => `$c${i}`)})`,
  )
  let refused = 0
  const whole = scan(from, table, names, (row) => {
    try {
      const { changes } = put.run(Object.fromEntries(columns.map((column, i) => [`c${i}`, row[column] ?? null])))
      if (Number(changes) === 0) refused++
    } catch {
      refused++
    }
  })
  if (whole === 'broken') lost.push(`Some ${noun(table)} could not be read.`)
  if (whole === 'bounded')
    lost.push(`Only the newest ${MAX_ROWS} ${noun(table)} were read; the others stay in the damaged file.`)
  if (refused > 0) lost.push(`${refused} ${noun(table)} could be read but are not whole.`)
}

/** Newest first, then from the other end, then one by one between. */
function scan(
  from: DatabaseSync,
  table: string,
  names: readonly string[],
  take: (row: Read) => void,
): 'whole' | 'bounded' | 'broken' {
  const select = `SELECT rowid "#", ${names} FROM ${table} NOT INDEXED WHERE`
  const walk = (sql: string, bound: number, most: number) => {
    let last = bound
    let taken = 0
    try {
      for (const row of from.prepare(`${select} ${sql} LIMIT ${most}`).iterate(bound) as Iterable<Read>) {
        last = Number(row['#'])
        take(row)
        taken++
      }
      return { last, taken, whole: true }
    } catch {
      return { last, taken, whole: false }
    }
  }
  const down = walk('rowid < ? ORDER BY rowid DESC', Number.MAX_SAFE_INTEGER, MAX_ROWS)
  if (down.whole) return down.taken < MAX_ROWS ? 'whole' : 'bounded'
  const up = walk(`rowid > ? AND rowid < ${down.last} ORDER BY rowid`, Number.MIN_SAFE_INTEGER, MAX_ROWS - down.taken)
  const first = Math.max(up.last, 0) + 1
  const end = Math.min(down.last, first + MAX_PROBES)
  for (let id = first; id < end; id++) walk('rowid = ?', id, 1)
  return 'broken'
}

/** What cannot be meant, and what hangs on it, goes. */
function dropUnsound(handle: DatabaseSync, lost: string[]): void {
  for (const [table, rules] of Object.entries(SOUND_ROWS)) {
    const all = rules.map(([rule]) => `(${rule.replaceAll('NEW.', '')})`).join(' AND ')
    const { changes } = handle.prepare(`DELETE FROM ${table} WHERE NOT (${all})`).run()
    if (Number(changes) > 0) lost.push(`${changes} ${noun(table)} were changed from outside and cannot be used.`)
  }
  for (let round = 0; round < tablesOf(handle).length; round++) {
    const orphans = handle.prepare('SELECT "table" name, rowid id FROM pragma_foreign_key_check').all()
    if (orphans.length === 0) return
    for (const { name, id } of orphans)
      handle.prepare(`DELETE FROM ${name} WHERE rowid = $id`).run({ id: id as number })
    lost.push(
      `${orphans.length} rows were left without what they belong to: ${[...new Set(orphans.map(({ name }) => noun(String(name))))].join(', ')}.`,
    )
  }
}
