import { randomBytes } from 'node:crypto'
import type { Database } from './database.ts'

/** Few values of this control plane, by key; not for secrets. */
export class SettingsStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  find(key: string): string | undefined {
    return this.#db.find<{ value: string }>('SELECT value FROM settings WHERE key = $key', { key })?.value
  }

  set(key: string, value: string): void {
    this.#db.run('INSERT INTO settings VALUES ($key, $value) ON CONFLICT (key) DO UPDATE SET value = excluded.value', {
      key,
      value,
    })
  }

  /** This fleet's id, 32 hex characters; made at first use and never changed. */
  fleetId(): string {
    return this.#db.transaction(() => {
      const known = this.find('fleet_id')
      if (known) return known
      const id = randomBytes(16).toString('hex')
      this.set('fleet_id', id)
      return id
    })
  }
}
