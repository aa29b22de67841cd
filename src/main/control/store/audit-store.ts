import { DEFAULT_TENANT, SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { type Actor, currentActor } from './actor.ts'
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
  /** The task that carries it out. Absent = that of who acts, if any. */
  taskId?: string
  /** How it ended. Absent = done with this entry where nobody else has to do anything; else not known here. */
  result?: string
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
  task_id: string
  result: string
}

/** The append-only trail; triggers refuse an edit, and a removal that is not retention's. Stores write within the mutation's transaction. */
export class AuditStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  /** Who asked is known here, unless it was somebody before. */
  add(event: AuditEvent, actor: Actor = currentActor()): void {
    const { user, client, requestId } = actor
    const taskId = event.taskId ?? actor.taskId ?? ''
    this.#db.run(
      `INSERT INTO audit (at, action, tenant, vm_id, host_id, detail, user, client, request_id, before, after, task_id, result)
       VALUES ($at, $action, $tenant, $vmId, $hostId, $detail, $user, $client, $requestId, $before, $after, $taskId, $result)`,
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
        taskId,
        result: event.result ?? (taskId === '' && isWhole(event.action) && client !== 'eitri' ? 'done' : ''),
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

  /** Entries of ends of these tasks, by the task; one that goes on, or whose end is not kept, has none. */
  ends(taskIds: readonly string[]): Map<string, AuditRow> {
    const rows = this.#db.list<Raw>(
      `SELECT * FROM audit INDEXED BY audit_task
       WHERE task_id <> '' AND task_id IN (SELECT value FROM json_each($ids)) AND action = 'task.end'`,
      { ids: JSON.stringify(taskIds) },
    )
    return new Map(rows.map((row) => [row.task_id, rowOf(row)]))
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

/** Nouns of this store alone: what is written is done. */
const WHOLE = ['ca.', 'cert.', 'tenant.', 'template.', 'image.', 'audit.', 'store.', 'support.']
const isWhole = (action: string): boolean => WHOLE.some((noun) => action.startsWith(noun))

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
  taskId: raw.task_id,
  result: raw.result,
})
