import { existsSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Fault } from '../../../ipc/faults.ts'
import { MiB } from '../../../ipc/units.ts'
import { MIGRATIONS } from './migrations.ts'
import { SOUND_ROWS } from './migrations-invariants.ts'
import { schemaOf } from './migrations-run.ts'

/** Past this the audit trail, which alone grows with time, is checked where it is read and not at each start. */
const CHECK_WHOLE_BYTES = 64 * MiB
const UNBOUNDED = 'audit'
const CORRUPT = 11
const NOT_A_DATABASE = 26

export type Look =
  | { kind: 'absent' }
  | { kind: 'sound'; schema: number }
  | { kind: 'newer'; schema: number }
  /** `schema` 0 = not known. */
  | { kind: 'damaged'; schema: number; reason: string }

/** Whether an error of SQLite means that the bytes of a file are wrong, rather than that they cannot be had now. */
export function saysDamaged(error: unknown): boolean {
  const code = Number((error as { errcode?: number } | undefined)?.errcode) & 0xff
  return code === CORRUPT || code === NOT_A_DATABASE
}

/**
 * Opens a file for reading and leaves its folder as it was. Whoever opens closes by `close`. Raises what SQLite raises.
 */
export function openReading(file: string): { handle: DatabaseSync; close(): void } {
  const besides = ['-wal', '-shm'].map((end) => `${file}${end}`).filter((path) => !existsSync(path))
  // Without a log beside it, nobody writes it: no lock is needed, and none is left.
  const url = pathToFileURL(file)
  if (!existsSync(`${file}-wal`)) url.search = 'mode=ro&immutable=1'
  const handle = new DatabaseSync(url, { readOnly: true })
  return {
    handle,
    close() {
      handle.close()
      for (const path of besides) if (!path.endsWith('-wal') || isEmpty(path)) rmSync(path, { force: true })
    },
  }
}

const isEmpty = (path: string) => existsSync(path) && statSync(path).size === 0

/**
 * What a file is, without a write to it; one from elsewhere is checked whole, and has to be made as ours are. Raises
 * store/unavailable where it cannot be read now.
 */
export function lookAtStore(file: string, { fromElsewhere = false, wholeBytes = CHECK_WHOLE_BYTES } = {}): Look {
  if (!existsSync(file) || statSync(file).size === 0) return { kind: 'absent' }
  let opened: ReturnType<typeof openReading> | undefined
  let schema = 0
  try {
    opened = openReading(file)
    schema = schemaOf(opened.handle)
    if (schema > MIGRATIONS.length) return { kind: 'newer', schema }
    const whole = fromElsewhere || statSync(file).size <= wholeBytes
    const reason =
      whyForeign(opened.handle, schema, fromElsewhere) ??
      whyBroken(opened.handle, whole) ??
      whyUnsound(opened.handle, schema)
    return reason === undefined ? { kind: 'sound', schema } : { kind: 'damaged', schema, reason }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    if (saysDamaged(error)) return { kind: 'damaged', schema, reason: detail }
    throw new Fault('store/unavailable', 'transient', { detail }, { cause: error })
  } finally {
    opened?.close()
  }
}

/** Undefined = it has every table and column that its schema has; `strictly` = and nothing else, each made as we do. */
function whyForeign(handle: DatabaseSync, schema: number, strictly: boolean): string | undefined {
  const model = new DatabaseSync(':memory:')
  try {
    for (const sql of MIGRATIONS.slice(0, schema)) model.exec(sql)
    if (schema === 0 && tablesOf(handle).length > 0) return 'it is a database of another program'
    const made = strictly ? partsOf(handle) : new Map<string, string>()
    const ours = strictly ? partsOf(model) : made
    for (const part of new Set([...made.keys(), ...ours.keys()]))
      if (made.get(part) !== ours.get(part)) return `its ${part.slice(0, 80)} is not as this program makes it`
    for (const table of tablesOf(model)) {
      const there = new Set(columnsOf(handle, table))
      const missing = columnsOf(model, table).filter((column) => !there.has(column))
      if (missing.length > 0) return `its table ${table} lacks ${missing.slice(0, 5).join(', ')}`
    }
    return undefined
  } finally {
    model.close()
  }
}

/** What it is made of, and by which words; how ALTER TABLE spaces and quotes them differs between versions of SQLite. */
function partsOf(handle: DatabaseSync): Map<string, string> {
  const parts = handle.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all()
  return new Map(parts.map(({ type, name, sql }) => [`${type} ${name}`, String(sql).replace(/[\s"]/g, '')]))
}

function whyBroken(handle: DatabaseSync, whole: boolean): string | undefined {
  const checks = whole
    ? ['PRAGMA integrity_check(1)']
    : tablesOf(handle)
        .filter((table) => table !== UNBOUNDED)
        .map((table) => `PRAGMA integrity_check('${table}')`)
  for (const check of checks) {
    const [found] = handle
      .prepare(check)
      .all()
      .flatMap((row) => Object.values(row))
    if (found !== 'ok') return String(found).replaceAll('\n', ' ').slice(0, 200)
  }
  return undefined
}

/** Bytes that changed within a value break no page: rows are held against what they must satisfy. */
function whyUnsound(handle: DatabaseSync, schema: number): string | undefined {
  if (schema < MIGRATIONS.length) return undefined
  for (const [table, rules] of Object.entries(SOUND_ROWS)) {
    if (table === UNBOUNDED) continue
    for (const [rule, words] of rules)
      if (handle.prepare(`SELECT 1 FROM ${table} AS NEW WHERE NOT (${rule}) LIMIT 1`).get())
        return `a row of ${table} was changed from outside: ${words}`
  }
  return undefined
}

/** In the order they were made. */
export const tablesOf = (handle: DatabaseSync): string[] =>
  handle
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    .all()
    .map((row) => String(row['name']))

/** In their order; none = there is no such table. */
export const columnsOf = (handle: DatabaseSync, table: string): string[] =>
  handle
    .prepare('SELECT name FROM pragma_table_info($table) ORDER BY cid')
    .all({ table })
    .map((row) => String(row['name']))
