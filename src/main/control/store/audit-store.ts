import { DEFAULT_TENANT, SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { currentActor } from './actor.ts'
import { type AuditQuery, merged, rangesOf } from './audit-query.ts'
import { type ChangedFields, changedFields } from './changed-fields.ts'
import type { Database } from './database.ts'

export { SYSTEM_TENANT }

export interface AuditEvent extends ChangedFields {
  /** `noun.verb`. */
  action: string
  tenant: string
  vmId?: string
  hostId?: string
  /** Never secrets. */
  detail?: Record<string, string>
}

/** Empty `before` and `after` = nothing, or not kept. */
export interface AuditRow extends Required<AuditEvent> {
  /** OS user; empty = nobody asked. */
  user: string
  /** Through what: app, cli, mcp, api; eitri = the control plane by itself. Empty = before this was kept. */
  client: string
  requestId: string
  id: string
  at: Date
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
  before: string | null
  after: string | null
}

/** The append-only trail; triggers refuse an edit, and a removal that is not retention's. Stores write within the mutation's transaction. */
export class AuditStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  /** Who asked is known here. */
  add(event: AuditEvent): void {
    const { user, client, requestId } = currentActor()
    this.#db.run(
      `INSERT INTO audit (at, action, tenant, vm_id, host_id, detail, user, client, request_id, before, after)
       VALUES ($at, $action, $tenant, $vmId, $hostId, $detail, $user, $client, $requestId, $before, $after)`,
      {
        at: new Date(this.#now()).toISOString(),
        action: event.action,
        tenant: event.tenant,
        vmId: event.vmId ?? '',
        hostId: event.hostId ?? '',
        detail: JSON.stringify(event.detail ?? {}),
        user,
        client,
        requestId,
        before: event.before ?? null,
        after: event.after ?? null,
      },
    )
  }

  /** The row of a mutation, with what it changed. Undefined = it was not there, or is not any more. */
  changed(event: AuditEvent, before: object | undefined, after: object | undefined): void {
    this.add({ ...event, ...changedFields(before, after) })
  }

  /** Newest first, unless oldest first is asked for. */
  list(query: AuditQuery): AuditRow[] {
    const pages = rangesOf(this.#db, query).map(({ sql, params }) => this.#db.list<Raw>(sql, params))
    return merged(pages, query).map(rowOf)
  }

  /** The newest entry's id; 0 = there is none. */
  lastId(): number {
    return this.#db.find<{ id: number | null }>('SELECT max(id) id FROM audit')?.id ?? 0
  }

  /** Removes entries older than the window, the oldest `most` at once; how many. A window that is not positive removes nothing. */
  prune(windowMs: number, most: number = -1): number {
    if (!(windowMs > 0)) return 0
    const cut = new Date(Math.max(0, this.#now() - windowMs)).toISOString()
    return this.#db.transaction(() => {
      this.#db.run(
        `INSERT INTO settings VALUES ('audit.pruned_before', $cut)
         ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`,
        { cut },
      )
      return this.#db.run(
        'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $cut ORDER BY at LIMIT $most)',
        { cut, most },
      )
    })
  }
}

/** Whose entries a tenant is shown: the first one is where the app's own things are looked after. */
export const shownTo = (tenant: string): string[] =>
  tenant === DEFAULT_TENANT ? [DEFAULT_TENANT, SYSTEM_TENANT] : [tenant]

const rowOf = (raw: Raw): AuditRow => ({
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
  before: raw.before ?? '',
  after: raw.after ?? '',
})
