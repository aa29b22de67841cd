import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Fault } from '../../../ipc/faults.ts'
import { writeTrouble } from '../../file-words.ts'

/** Copies of each kind that stay: the newest. */
export const KEPT_COPIES = 5
/** Where a SQLite header keeps `user_version`. */
const USER_VERSION_AT = 60

/** A copy kept beside the database. */
export interface Copy {
  path: string
  sizeBytes: number
  /** 0 = not known. */
  schema: number
  madeAt: Date
}

/**
 * A consistent copy of all that is committed, 0600, on disk when it returns. Raises input/invalid for a path that is
 * taken or whose folder is not there, store/unavailable when it cannot be written; then nothing is left of it.
 */
export function writeCopy(handle: Pick<DatabaseSync, 'prepare'>, path: string): void {
  // Made first and alone: nobody else's file is written into, and nobody else can read it meanwhile.
  closeSync(opened(path))
  try {
    handle.prepare('VACUUM INTO $path').run({ path })
    synced(path)
    synced(dirname(path))
  } catch (cause) {
    rmSync(path, { force: true })
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('store/unavailable', 'transient', { detail: `${path}: ${detail}` }, { cause })
  }
}

function opened(path: string): number {
  try {
    return openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW, 0o600)
  } catch (cause) {
    const problem = writeTrouble(cause, path)
    throw new Fault('input/invalid', 'permanent', { field: 'path', problem, value: path }, { cause })
  }
}

/** Makes what was written there last through a loss of power. */
export function synced(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Before a change of schema. The newest of its kind stay. */
export function copyBeforeChange(handle: DatabaseSync, file: string, schema: number, now: number): void {
  const made = besides(file, `schema-${schema}`, now)
  writeCopy(handle, made)
  keepNewest(file, /\.schema-\d+\..*\.bak$/, made)
}

/** A name beside the database that is free: `<db>.<kind>.<time>.bak`. */
export function besides(file: string, kind: string, now: number): string {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  for (let n = 0; ; n++) {
    const path = `${file}.${kind}.${time}${n === 0 ? '' : `-${n}`}.bak`
    if (!existsSync(path)) return path
  }
}

/**
 * Keeps a database that another takes the place of. The file stays under its name too, so that no moment has none; its
 * log does not: it is of another file from now on. Where it is kept; '' = there was none.
 */
export function setAside(file: string, kind: string, now: number): string {
  const aside = besides(file, kind, now)
  const isThere = existsSync(file)
  // First: where it cannot be kept, its log stays with it.
  if (isThere) linkSync(file, aside)
  for (const end of ['-wal', '-shm']) if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${aside}${end}`)
  if (!isThere) return ''
  keepNewest(file, new RegExp(`\\.${kind}\\.`), aside)
  return aside
}

/** Removes all but the newest of a kind, what belongs to each with it. The last one made stays, whatever clocks say. */
function keepNewest(file: string, kind: RegExp, made: string): void {
  const old = copiesBeside(file)
    .filter(({ path }) => kind.test(path) && path !== made)
    .slice(KEPT_COPIES - 1)
  for (const { path } of old) for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

/** What was kept beside the database, newest first. */
export function copiesBeside(file: string): Copy[] {
  const folder = dirname(file)
  return names(folder)
    .filter((name) => name.startsWith(`${basename(file)}.`) && name.endsWith('.bak'))
    .flatMap((name) => copyAt(join(folder, name)) ?? [])
    .sort((a, b) => b.madeAt.getTime() - a.madeAt.getTime() || (a.path < b.path ? 1 : -1))
}

/** A copy wherever it lies; undefined = it is gone, or no file. */
export function copyAt(path: string): Copy | undefined {
  try {
    const stat = statSync(path)
    // Opening a pipe waits for whoever writes it.
    if (!stat.isFile()) return undefined
    const { size, mtime } = stat
    return { path, sizeBytes: size, schema: schemaInHeader(path), madeAt: mtime }
  } catch {
    return undefined
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function schemaInHeader(path: string): number {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(4)
    return readSync(fd, bytes, 0, 4, USER_VERSION_AT) === 4 ? bytes.readUInt32BE() : 0
  } finally {
    closeSync(fd)
  }
}
