import type { Database } from './database.ts'

/** A host key this fleet trusts, by what it is filed under (name or address, and port) and its type. */
export interface HostKeyRow {
  host: string
  port: number
  type: string
  blob: Buffer
  fingerprint: string
  firstSeen: Date
  how: 'accepted' | 'known-hosts'
}

interface Raw {
  host: string
  port: number
  type: string
  blob: string
  fingerprint: string
  first_seen: string
  how: HostKeyRow['how']
}

/** Host keys accepted by a person or found in known_hosts when a host was added. */
export class HostKeysStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  list(host: string, port: number): HostKeyRow[] {
    const params = { host: host.toLowerCase(), port }
    return this.#db
      .list<Raw>('SELECT * FROM host_keys WHERE host = $host AND port = $port ORDER BY type', params)
      .map((raw) => ({ ...raw, blob: Buffer.from(raw.blob, 'base64'), firstSeen: new Date(raw.first_seen) }))
  }

  /** The only key of its host from now on, whatever types were known. Idempotent. */
  replace(row: HostKeyRow): void {
    this.#db.transaction(() => {
      const params = { host: row.host.toLowerCase(), port: row.port, blob: row.blob.toString('base64') }
      this.#db.run('DELETE FROM host_keys WHERE host = $host AND port = $port AND blob <> $blob', params)
      this.accept(row)
    })
  }

  /** Replaces a key of the same type. Idempotent. */
  accept(row: HostKeyRow): void {
    this.#db.run(
      `INSERT INTO host_keys VALUES ($host, $port, $type, $blob, $fingerprint, $firstSeen, $how)
       ON CONFLICT (host, port, type) DO UPDATE SET blob = $blob, fingerprint = $fingerprint,
         first_seen = $firstSeen, how = $how WHERE blob <> $blob`,
      {
        ...row,
        host: row.host.toLowerCase(),
        blob: row.blob.toString('base64'),
        firstSeen: row.firstSeen.toISOString(),
      },
    )
  }
}
