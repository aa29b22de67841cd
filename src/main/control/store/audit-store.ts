import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { currentActor } from './actor.ts'
import type { Database, Row } from './database.ts'

export { SYSTEM_TENANT }

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
  /** OS user; empty = nobody asked. */
  user: string
  /** Through what: app, cli, mcp, api; eitri = the control plane by itself. Empty = before this was kept. */
  client: string
  requestId: string
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
  user: string
  client: string
  request_id: string
}

const whoActs = () => {
  const { user, client, requestId } = currentActor()
  return { user, client, requestId }
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
      `INSERT INTO audit (at, action, tenant, vm_id, host_id, detail, user, client, request_id)
       VALUES ($at, $action, $tenant, $vmId, $hostId, $detail, $user, $client, $requestId)`,
      {
        ...whoActs(),
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
      user: raw.user,
      client: raw.client,
      requestId: raw.request_id,
    }))
  }

  /** Removes entries older than the window; how many. A window that is not positive removes nothing. */
  prune(windowMs: number): number {
    if (!(windowMs > 0)) return 0
    return this.#db.run('DELETE FROM audit WHERE at < $cut', { cut: new Date(this.#now() - windowMs).toISOString() })
  }
}
