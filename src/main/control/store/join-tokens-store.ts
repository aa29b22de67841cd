import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import type { Database } from './database.ts'

/** Kept this long after their end, then forgotten, ms. */
const KEPT_MS = 24 * 3600 * 1000
/** Tokens of a tenant that are good at one time. */
const MAX_OPEN = 100

export interface JoinToken {
  /** SHA-256 of the token, hex: the token itself is kept by nobody. */
  hash: string
  tenant: string
  createdAt: Date
  expiresAt: Date
  /** Absent = not used. */
  usedAt: Date | null
  hostId: string
}

interface RawJoinToken {
  hash: string
  tenant: string
  created_at: string
  expires_at: string
  used_at: string | null
  host_id: string
}

/** One-shot tokens of join blobs, by their hashes. */
export class JoinTokensStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  list(tenant: string): JoinToken[] {
    return this.#db
      .list<RawJoinToken>('SELECT * FROM join_tokens WHERE tenant = $tenant ORDER BY created_at', { tenant })
      .map(tokenOf)
  }

  /** Raises input/too-large when too many are open. */
  add(tenant: string, hash: string, expiresAt: Date): void {
    this.#db.transaction(() => {
      const now = this.#now()
      this.#db.run('DELETE FROM join_tokens WHERE expires_at < $before', {
        before: new Date(now - KEPT_MS).toISOString(),
      })
      const open = this.list(tenant).filter((token) => !token.usedAt && token.expiresAt.getTime() > now)
      if (open.length >= MAX_OPEN)
        throw new Fault('input/too-large', 'permanent', { message: `${MAX_OPEN} join blobs are open already` })
      const [createdAt, ends] = [new Date(now).toISOString(), expiresAt.toISOString()]
      this.#db.run(
        'INSERT INTO join_tokens (hash, tenant, created_at, expires_at) VALUES ($hash, $tenant, $createdAt, $ends)',
        { hash, tenant, createdAt, ends },
      )
      this.#audit.add({ action: 'host.join-blob', tenant, detail: { ends } })
    })
  }

  /**
   * Uses a token up for this host and answers its tenant; call it in the transaction that makes the host. Raises
   * host/token-refused for every reason alike.
   */
  redeem(hash: string, hostId: string): string {
    return this.#db.transaction(() => {
      const now = new Date(this.#now()).toISOString()
      const used = this.#db.run(
        'UPDATE join_tokens SET used_at = $now, host_id = $hostId WHERE hash = $hash AND used_at IS NULL AND expires_at > $now',
        { hash, hostId, now },
      )
      if (used !== 1) throw new Fault('host/token-refused', 'permanent')
      const row = this.#db.find<{ tenant: string }>('SELECT tenant FROM join_tokens WHERE hash = $hash', { hash })
      if (!row) throw new Fault('app/bug', 'bug', { message: 'read token tenant: it is gone' })
      return row.tenant
    })
  }
}

const tokenOf = (raw: RawJoinToken): JoinToken => ({
  hash: raw.hash,
  tenant: raw.tenant,
  createdAt: new Date(raw.created_at),
  expiresAt: new Date(raw.expires_at),
  usedAt: raw.used_at === null ? null : new Date(raw.used_at),
  hostId: raw.host_id,
})
