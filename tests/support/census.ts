import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Desktop } from './eitri.ts'
import type { SshHost } from './ssh-host.ts'

const SEARCHED_BYTES = 1024 * 1024
/** Of the host itself or of a command a test runs there, not of a VM. */
const NOT_OURS = /^(sshd|-?bash|sh|nsenter|ps|\/usr\/sbin\/sshd|\(sd-pam\)|\/bin\/sh -c)/

const HOST_PLACES = [
  '/run',
  '/tmp',
  '/var/tmp',
  '/dev/shm',
  '/etc',
  '/usr/local/bin',
  '/usr/local/lib',
  '/home',
  '/root',
]
/** Folders the agent makes once, and its log's predecessor. */
const SKELETON = /\/(vms|trash|agent\.log\.1)$/
/** What happened may be told for ever. */
const LOG = /\.log(\.1)?$/

export interface CensusPlaces {
  desktop: Desktop
  host: SshHost
  /** Of the agent, on the host. */
  stateDir: string
}

const byText = (a: string, b: string) => (a < b ? -1 : 1)

/** Everything a VM may leave somewhere, as lines that can be compared. */
export interface Census {
  processes: string[]
  files: string[]
  rows: Record<string, number>
}

export function takeCensus({ desktop, host, stateDir }: CensusPlaces): Census {
  const onHost = host.listProcesses().map((p) => nameOf(p.argv))
  const here = desktop.processes().map((p) => p.argv.join(' '))
  const places = [stateDir, ...HOST_PLACES]
  const hostFiles = places
    .flatMap((dir) => filesUnder(host.outside(dir)).map((f) => `host:${dir}/${f}`))
    .filter((f) => !SKELETON.test(f))
  const deskFiles = filesUnder(desktop.dataDir).map((f) => `desktop:${f}`)
  return {
    processes: [...onHost.filter((p) => p !== '' && !NOT_OURS.test(p)), ...here].sort(byText),
    files: [...new Set([...hostFiles, ...deskFiles])].sort(byText),
    rows: rowCounts(desktop.dataDir),
  }
}

/** The agent may be started by its link or by the file behind it. */
const nameOf = ([program = '', ...args]: string[]) => [program.replace(/.*\/(?=eitri-agent$)/, ''), ...args].join(' ')

/** What `after` has and `before` had not, one line each. */
export function diffCensus(before: Census, after: Census): string[] {
  const added = (kind: string, old: string[], now: string[]) => {
    const left = new Map<string, number>()
    for (const line of old) left.set(line, (left.get(line) ?? 0) + 1)
    return now.flatMap((line) => {
      const count = left.get(line) ?? 0
      left.set(line, count - 1)
      return count > 0 ? [] : [`${kind} ${line}`]
    })
  }
  const rows = Object.entries(after.rows).flatMap(([table, count]) => {
    const more = count - (before.rows[table] ?? 0)
    return more > 0 ? [`rows ${table} +${more}`] : []
  })
  return [...added('process', before.processes, after.processes), ...added('file', before.files, after.files), ...rows]
}

/** Where a text is still to be found: file names and contents (logs aside), command lines, and rows of tables other than `except`. */
export function tracesOf(text: string, places: CensusPlaces, except: string[]): string[] {
  const { desktop, host, stateDir } = places
  const census = takeCensus(places)
  const named = [...census.processes, ...census.files].filter((line) => line.includes(text))
  const written = filesUnder(host.outside(stateDir))
    .filter((f) => !LOG.test(f))
    .filter((f) => contains(host.outside(`${stateDir}/${f}`), text))
  const rows = databasesIn(desktop.dataDir).flatMap((db) => rowsWith(db, text, except))
  return [...named, ...written.map((f) => `written in ${f}`), ...rows]
}

function filesUnder(dir: string): string[] {
  try {
    return fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

function contains(file: string, text: string): boolean {
  try {
    const stat = fs.lstatSync(file)
    return stat.isFile() && stat.size <= SEARCHED_BYTES && fs.readFileSync(file).includes(text)
  } catch {
    return false
  }
}

function databasesIn(dir: string): string[] {
  return filesUnder(dir)
    .map((f) => path.join(dir, f))
    .filter((file) => {
      if (!fs.lstatSync(file).isFile()) return false
      const head = Buffer.alloc(15)
      const fd = fs.openSync(file, 'r')
      fs.readSync(fd, head)
      fs.closeSync(fd)
      return head.toString('latin1') === 'SQLite format 3'
    })
}

function withDatabase<T>(file: string, use: (db: DatabaseSync, tables: string[]) => T): T {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    db.exec('PRAGMA busy_timeout = 2000')
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
    return use(
      db,
      tables.map((t) => String(t['name'])),
    )
  } finally {
    db.close()
  }
}

function rowCounts(dataDir: string): Record<string, number> {
  const counts = databasesIn(dataDir).flatMap((file) =>
    withDatabase(file, (db, tables) =>
      tables.map((t) => [t, Number(db.prepare(`SELECT count(*) AS n FROM "${t}"`).get()!['n'])] as const),
    ),
  )
  return Object.fromEntries(counts)
}

function rowsWith(file: string, text: string, except: string[]): string[] {
  return withDatabase(file, (db, tables) =>
    tables
      .filter((t) => !except.includes(t))
      .flatMap((t) =>
        db
          .prepare(`SELECT * FROM "${t}"`)
          .all()
          .map((row) => ({ t, row })),
      )
      .filter(({ row }) => Object.values(row).some((value) => valueContains(value, text)))
      .map(({ t, row }) => `row of ${t}: ${JSON.stringify(row).slice(0, 200)}`),
  )
}

function valueContains(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text)
  return value instanceof Uint8Array && Buffer.from(value).includes(text)
}
