import type { Database } from './database.ts'

/** Partitions of names, quotas and audit. */
export class TenantsStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  has(name: string): boolean {
    return this.#db.find('SELECT 1 FROM tenants WHERE name = $name', { name }) !== undefined
  }
}
