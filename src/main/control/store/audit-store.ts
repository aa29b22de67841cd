import type { Database, Row } from './database.ts'

/** Scope of events that belong to no tenant. */
export const SYSTEM_TENANT = 'system'

export interface AuditEvent {
  /** `noun.verb`. */
  action: string
  tenant: string
  vmId?: string
  hostId?: string
  /** Never secrets. */
  detail?: Record<string, string>
}

export interface AuditRow extends Required<AuditEvent> {
  id: string
  at: Date
}

export interface AuditQuery {
  tenant?: string
  vmId?: string
  hostId?: string
  since?: Date
  limit: number
}

interface Raw {
  id: number
  at: string
  action: string
  tenant: string
  vm_id: string
  host_id: string
  detail: string
}

/** The append-only trail. Stores write their own rows inside the mutation's transaction. */
export class AuditStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  add(event: AuditEvent): void {
    this.#db.run(
      `INSERT INTO audit (at, action, tenant, vm_id, host_id, detail)
       VALUES ($at, $action, $tenant, $vmId, $hostId, $detail)`,
      {
        at: new Date(this.#now()).toISOString(),
        action: event.action,
        tenant: event.tenant,
        vmId: event.vmId ?? '',
        hostId: event.hostId ?? '',
        detail: JSON.stringify(event.detail ?? {}),
      },
    )
  }

  /** Newest first. */
  list({ tenant, vmId, hostId, since, limit }: AuditQuery): AuditRow[] {
    const where: string[] = []
    const params: Row = { limit }
    const and = (sql: string, key: string, value: string | undefined) => {
      if (value === undefined) return
      where.push(sql)
      params[key] = value
    }
    and('tenant = $tenant', 'tenant', tenant)
    and('vm_id = $vmId', 'vmId', vmId)
    and('host_id = $hostId', 'hostId', hostId)
    and('at >= $since', 'since', since?.toISOString())
    const clause = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`
    return this.#db.list<Raw>(`SELECT * FROM audit ${clause} ORDER BY id DESC LIMIT $limit`, params).map((raw) => ({
      id: String(raw.id),
      at: new Date(raw.at),
      action: raw.action,
      tenant: raw.tenant,
      vmId: raw.vm_id,
      hostId: raw.host_id,
      detail: JSON.parse(raw.detail) as Record<string, string>,
    }))
  }

  /** Removes entries older than the window; how many. A window that is not positive removes nothing. */
  prune(windowMs: number): number {
    if (!(windowMs > 0)) return 0
    return this.#db.run('DELETE FROM audit WHERE at < $cut', { cut: new Date(this.#now() - windowMs).toISOString() })
  }
}
