import type { Database, Row } from './database.ts'

/** Absent = all. */
export interface AuditQuery {
  tenants?: readonly string[]
  vmId?: string
  hostId?: string
  since?: Date
  /** `noun.verb`, or `noun.` for all of a noun. */
  action?: string
  requestId?: string
  /** Only those that ended so; `running` = those that have not. */
  result?: string
  /** Only ids below this one. */
  beforeId?: number
  /** Oldest first, and only ids above this one. */
  afterId?: number
  limit: number
}

export interface Range {
  sql: string
  params: Row
}

interface Scope {
  tenant?: string
  action?: string
}

/**
 * Queries whose answers together hold the page, each read from an index in the order of ids, so that none looks at much
 * more than the page however long the trail is.
 */
export function rangesOf(db: Database, query: AuditQuery): Range[] {
  const about = query.vmId !== undefined || query.hostId !== undefined || query.requestId !== undefined
  // What one thing or one request left is few rows: those are looked through.
  const scopes: Scope[] = about ? [{}] : scopesOf(db, query)
  const common = conditions(db, query, about)
  const order = query.afterId === undefined ? 'DESC' : 'ASC'
  return scopes.map(({ tenant, action }) => {
    const all = [
      ...(tenant === undefined ? [] : [{ sql: 'tenant = $tenant', params: { tenant } }]),
      ...(action === undefined ? [] : [{ sql: 'action = $action', params: { action } }]),
      ...common,
    ]
    const clause = all.map(({ sql }) => sql).join(' AND ')
    const params: Row = Object.assign({ limit: query.limit }, ...all.map((one) => one.params))
    return {
      sql: `SELECT * FROM audit ${clause === '' ? '' : `WHERE ${clause}`} ORDER BY id ${order} LIMIT $limit`,
      params,
    }
  })
}

/** Times rise with ids but where a clock was set: below the first id nothing is as young. */
function youngerThan(db: Database, date: Date): Range {
  const since = date.toISOString()
  const sql = 'SELECT min(id) id FROM (SELECT id FROM audit INDEXED BY audit_at WHERE at >= $since)'
  const fromId = db.find<{ id: number | null }>(sql, { since })?.id ?? Number.MAX_SAFE_INTEGER
  return { sql: 'at >= $since AND id >= $fromId', params: { since, fromId } }
}

/** One page of them all, in the query's order. */
export function merged<T extends { id: number }>(pages: readonly T[][], { afterId, limit }: AuditQuery): T[] {
  const [first = [], ...others] = pages
  if (others.length === 0) return first
  const up = afterId !== undefined
  return pages
    .flat()
    .sort((a, b) => (up ? a.id - b.id : b.id - a.id))
    .slice(0, limit)
}

function scopesOf(db: Database, { tenants, action }: AuditQuery): Scope[] {
  const of: Scope[] = tenants?.map((tenant) => ({ tenant })) ?? [{}]
  if (action === undefined) return of
  if (!action.endsWith('.')) return of.map((scope) => ({ ...scope, action }))
  return of.flatMap((scope) => actionsOf(db, scope, action).map((one) => ({ ...scope, action: one })))
}

function actionsOf(db: Database, { tenant }: Scope, noun: string): string[] {
  const rows = db.list<{ action: string }>(
    `SELECT DISTINCT action FROM audit WHERE action > $noun AND action < $end ${tenant === undefined ? '' : 'AND tenant = $tenant'}`,
    { noun, end: `${noun}\u{10ffff}`, ...(tenant === undefined ? {} : { tenant }) },
  )
  return rows.map((row) => row.action)
}

function conditions(db: Database, query: AuditQuery, about: boolean): Range[] {
  const { vmId, hostId, requestId, since, beforeId, afterId, action, tenants, result } = query
  return [
    // The indices hold only what is about something, and the planner must see that this is.
    ...(vmId === undefined ? [] : [{ sql: "vm_id = $vmId AND vm_id <> ''", params: { vmId } }]),
    ...(hostId === undefined ? [] : [{ sql: "host_id = $hostId AND host_id <> ''", params: { hostId } }]),
    ...(requestId === undefined
      ? []
      : [{ sql: "request_id = $requestId AND request_id <> ''", params: { requestId } }]),
    ...(since === undefined ? [] : [youngerThan(db, since)]),
    ...(result === undefined ? [] : [resultIs(result)]),
    { sql: NO_END_OF_OTHERS, params: {} },
    ...(beforeId === undefined ? [] : [{ sql: 'id < $beforeId', params: { beforeId } }]),
    ...(afterId === undefined ? [] : [{ sql: 'id > $afterId', params: { afterId } }]),
    ...(about && tenants
      ? [{ sql: 'tenant IN (SELECT value FROM json_each($tenants))', params: { tenants: JSON.stringify(tenants) } }]
      : []),
    ...(about && action !== undefined ? [ofAction(action)] : []),
  ]
}

/** The end of a task is told with the entries the task left; one that left none stands for itself. */
const NO_END_OF_OTHERS = `NOT (action = 'task.end' AND EXISTS (
  SELECT 1 FROM audit act INDEXED BY audit_task WHERE act.task_id <> '' AND act.task_id = audit.task_id AND act.id < audit.id))`

const ENDED = `FROM audit ended INDEXED BY audit_task
  WHERE ended.task_id <> '' AND ended.task_id = audit.task_id AND ended.action = 'task.end'`

function resultIs(result: string): Range {
  if (result === 'running')
    return { sql: `task_id <> '' AND action <> 'task.end' AND NOT EXISTS (SELECT 1 ${ENDED})`, params: {} }
  return {
    sql: `(result = $result OR (task_id <> '' AND EXISTS (SELECT 1 ${ENDED} AND ended.result = $result)))`,
    params: { result },
  }
}

function ofAction(action: string): Range {
  if (!action.endsWith('.')) return { sql: 'action = $action', params: { action } }
  const params = { action, actionEnd: `${action}\u{10ffff}` }
  return { sql: 'action >= $action AND action < $actionEnd', params }
}
