import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Fault } from '../../../ipc/faults.ts'
import { MIGRATIONS } from './migrations.ts'

export type Noun = 'host' | 'vm' | 'image' | 'task' | 'desired'

/** A row that changed; `desired` carries the id of the host whose desired state did. */
export interface Change {
  noun: Noun
  id: string
}

export type Row = Record<string, SQLInputValue>

const BUSY_TIMEOUT_MS = 5_000
const UNIQUE = new Set([1555, 2067])
const TRIGGER = 1811

/** The one SQLite connection of a control plane. Raises store/conflict (with `constraint`) and store/unavailable. */
export class Database {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #listeners = new Set<(changes: readonly Change[]) => void>()
  #depth = 0
  #pending = new Map<string, Change>()

  constructor(file: string) {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    this.#db = translated(() => new DatabaseSync(file))
    if (file !== ':memory:') chmodSync(file, 0o600)
    try {
      translated(() => {
        this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
        this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
        this.#migrate()
      })
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** Runs one statement; how many rows it changed. */
  run(sql: string, params: Row = {}): number {
    return translated(() => Number(this.#prepare(sql).run(params).changes))
  }

  find<T>(sql: string, params: Row = {}): T | undefined {
    return translated(() => this.#prepare(sql).get(params)) as T | undefined
  }

  list<T>(sql: string, params: Row = {}): T[] {
    return translated(() => this.#prepare(sql).all(params)) as T[]
  }

  /** All or nothing; nested calls join the outer one. Listeners of `onCommit` run once, after the commit. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work()
    translated(() => this.#db.exec('BEGIN IMMEDIATE'))
    this.#depth++
    let result: T
    try {
      result = work()
      translated(() => this.#db.exec('COMMIT'))
    } catch (error) {
      this.#pending = new Map()
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    } finally {
      this.#depth--
    }
    this.#publish()
    return result
  }

  /** Marks a row as changed; published with the commit of the running transaction, and only then. */
  changed(noun: Noun, id: string): void {
    this.#pending.set(`${noun}/${id}`, { noun, id })
    if (this.#depth === 0) this.#publish()
  }

  /** Called after each commit with what it changed, each row once; returns its stop function. */
  onCommit(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#statements.clear()
    if (this.#db.isOpen) this.#db.close()
  }

  #publish(): void {
    if (this.#pending.size === 0) return
    const changes = [...this.#pending.values()]
    this.#pending = new Map()
    for (const listener of this.#listeners) listener(changes)
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #migrate(): void {
    const row = this.#db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (row.user_version > MIGRATIONS.length) {
      throw new Fault('store/unavailable', 'permanent', {
        detail: `it was written by a newer version: schema ${row.user_version}, this version knows ${MIGRATIONS.length}`,
      })
    }
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (index < row.user_version) continue
      this.#db.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`)
    }
  }
}

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Fault || !(error instanceof Error) || !('errcode' in error)) throw error
    const code = Number(error.errcode)
    if (UNIQUE.has(code)) {
      const constraint = error.message.replace(/^UNIQUE constraint failed: /, '')
      throw new Fault('store/conflict', 'conflict', { constraint }, { cause: error })
    }
    if (code === TRIGGER) throw new Fault('store/conflict', 'conflict', { constraint: error.message }, { cause: error })
    throw new Fault('store/unavailable', 'transient', { detail: error.message }, { cause: error })
  }
}

/** Whether a fault is the named constraint refusing a write. */
export function brokeConstraint(error: unknown, constraint: string): boolean {
  return error instanceof Fault && error.code === 'store/conflict' && error.params['constraint'] === constraint
}
