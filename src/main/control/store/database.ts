import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { Fault } from '../../../ipc/faults.ts'
import { writeCopy } from './backup.ts'
import { saysDamaged } from './integrity.ts'

export type Noun = 'host' | 'vm' | 'image' | 'task' | 'desired'

/** A row that changed; `desired` carries the id of the host whose desired state did. */
export interface Change {
  noun: Noun
  id: string
}

export type Row = Record<string, SQLInputValue>

/** What is wrong with the file of a store; what could be read of it is served from memory meanwhile. */
export interface Damage {
  reason: string
  /** What could not be read, one sentence each. */
  lost: readonly string[]
}

/** An open connection, with what it stands for. */
export interface Opened {
  handle: DatabaseSync
  /** Absent = it is the file itself, and sound as far as is known. */
  damage?: Damage
  /** What to go on with once the file proves damaged while it is open; absent = there is no file. */
  salvage?(reason: string): Opened
}

const UNIQUE = new Set([1555, 2067])
const TRIGGER = 1811
const FULL = 13

/**
 * The one SQLite connection of a control plane. Raises store/conflict (with `constraint`), store/unavailable, and
 * store/read-only from the moment its file proves damaged: then what could be read goes on in memory, and `damage` says so.
 */
export class Database {
  #opened: Opened
  readonly #statements = new Map<string, StatementSync>()
  readonly #listeners = new Set<(changes: readonly Change[]) => void>()
  readonly #replaced = new Set<() => void>()
  #depth = 0
  #pending = new Map<string, Change>()
  /** Of connections before this one. */
  #writtenBefore: number
  /** Why the file proved damaged while it was open; '' = it did not. */
  #ruined = ''
  #full = ''

  constructor(opened: Opened) {
    this.#opened = opened
    this.#writtenBefore = -this.#changes()
  }

  /** Undefined = the file is sound as far as is known. */
  get damage(): Damage | undefined {
    this.#settle()
    return this.#opened.damage
  }

  /** What the last write that failed for want of room was told; '' = there is room. */
  get full(): string {
    return this.#full
  }

  /** Rows written since it was opened, those of triggers and of writes taken back included. */
  get writes(): number {
    return this.#writtenBefore + this.#changes()
  }

  /** Runs one statement; how many rows it changed. */
  run(sql: string, params: Row = {}): number {
    return this.#guarded(() => {
      const changes = Number(this.#prepare(sql).run(params).changes)
      if (changes > 0 && this.#depth === 0) this.#full = ''
      return changes
    })
  }

  find<T>(sql: string, params: Row = {}): T | undefined {
    return this.#guarded(() => this.#prepare(sql).get(params)) as T | undefined
  }

  list<T>(sql: string, params: Row = {}): T[] {
    return this.#guarded(() => this.#prepare(sql).all(params)) as T[]
  }

  /** All or nothing; nested calls join the outer one. Listeners of `onCommit` run once, after the commit. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work()
    this.#guarded(() => this.#handle.exec('BEGIN IMMEDIATE'))
    const before = this.writes
    this.#depth++
    let result: T
    try {
      result = work()
      this.#guarded(() => this.#handle.exec('COMMIT'))
    } catch (error) {
      this.#pending = new Map()
      if (this.#handle.isTransaction) this.#handle.exec('ROLLBACK')
      throw error
    } finally {
      this.#depth--
    }
    if (this.writes !== before) this.#full = ''
    this.#publish()
    return result
  }

  /** Within a transaction, which goes on either way: all of `work`, or nothing of it where it raises. */
  attempt<T>(work: () => T): T {
    this.#guarded(() => this.#handle.exec('SAVEPOINT attempt'))
    try {
      return work()
    } catch (error) {
      if (this.#handle.isTransaction) this.#handle.exec('ROLLBACK TO attempt')
      throw error
    } finally {
      if (this.#handle.isTransaction) this.#handle.exec('RELEASE attempt')
    }
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

  /** Called when every row may be another: the file proved damaged, or a new one took its place. Returns its stop function. */
  onReplaced(listener: () => void): () => void {
    this.#replaced.add(listener)
    return () => this.#replaced.delete(listener)
  }

  /** A transaction in which rows are put as they are and nothing follows from them. */
  withoutTriggers<T>(work: () => T): T {
    return this.transaction(() => {
      const triggers = this.list<{ name: string; sql: string }>(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid",
      )
      for (const { name } of triggers) this.run(`DROP TRIGGER ${name}`)
      const result = work()
      for (const { sql } of triggers) this.run(sql)
      return result
    })
  }

  /** A consistent copy of what is committed; see writeCopy. */
  copyInto(path: string): void {
    writeCopy(this.#handle, path)
  }

  /** Goes on with another connection and closes the one before. Never within a transaction. */
  replace(opened: Opened): void {
    this.#writtenBefore = this.writes
    this.#close()
    this.#opened = opened
    this.#ruined = ''
    this.#full = ''
    this.#writtenBefore -= this.#changes()
    for (const listener of this.#replaced) listener()
  }

  close(): void {
    this.#close()
  }

  get #handle(): DatabaseSync {
    return this.#opened.handle
  }

  #close(): void {
    this.#statements.clear()
    if (this.#handle.isOpen) this.#handle.close()
  }

  #changes(): number {
    const row = this.#prepare('SELECT total_changes() n').get() as { n: number }
    return Number(row.n)
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
      statement = this.#handle.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #guarded<T>(work: () => T): T {
    this.#settle()
    if (this.#ruined !== '') throw readOnly(this.#ruined)
    try {
      return work()
    } catch (error) {
      throw this.#translated(error)
    }
  }

  /** Between transactions: what can be read of a file that proved damaged takes its place. */
  #settle(): void {
    const { salvage } = this.#opened
    if (this.#ruined === '' || this.#depth > 0 || !salvage) return
    this.replace(salvage(this.#ruined))
  }

  #translated(error: unknown): unknown {
    if (error instanceof Fault || !(error instanceof Error) || !('errcode' in error)) return error
    const code = Number(error.errcode)
    if (UNIQUE.has(code)) {
      const constraint = error.message.replace(/^UNIQUE constraint failed: /, '')
      return new Fault('store/conflict', 'conflict', { constraint }, { cause: error })
    }
    if (code === TRIGGER)
      return new Fault('store/conflict', 'conflict', { constraint: error.message }, { cause: error })
    if (saysDamaged(error)) {
      if (this.#opened.salvage) this.#ruined = error.message
      return readOnly(error.message, error)
    }
    if ((code & 0xff) === FULL) this.#full = error.message
    return new Fault('store/unavailable', 'transient', { detail: error.message }, { cause: error })
  }
}

/** What every change is answered with while the store's file is damaged. */
export const readOnly = (reason: string, cause?: unknown): Fault =>
  new Fault('store/read-only', 'permanent', { detail: reason }, { cause })

/** Whether a fault is the named constraint refusing a write. */
export function brokeConstraint(error: unknown, constraint: string): boolean {
  return error instanceof Fault && error.code === 'store/conflict' && error.params['constraint'] === constraint
}
