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
  const where = wheres(query, about)
  const params = {
    ...paramsOf(query, about),
    ...(query.since === undefined ? {} : { fromId: firstSince(db, query.since) }),
  }
  const up = query.afterId !== undefined
  return scopes.map(({ tenant, action }) => {
    const own = [
      ...(tenant === undefined ? [] : ['tenant = $tenant']),
      ...(action === undefined ? [] : ['action = $action']),
    ]
    const clause = [...own, ...where].join(' AND ')
    return {
      sql: `SELECT * FROM audit ${clause === '' ? '' : `WHERE ${clause}`} ORDER BY id ${up ? 'ASC' : 'DESC'} LIMIT $limit`,
      params: { ...params, ...(tenant === undefined ? {} : { tenant }), ...(action === undefined ? {} : { action }) },
    }
  })
}

/** Times rise with ids but where a clock was set: below this id nothing is as young. */
function firstSince(db: Database, since: Date): number {
  const sql = 'SELECT min(id) id FROM (SELECT id FROM audit INDEXED BY audit_at WHERE at >= $since)'
  return db.find<{ id: number | null }>(sql, { since: since.toISOString() })?.id ?? Number.MAX_SAFE_INTEGER
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

function wheres(query: AuditQuery, about: boolean): string[] {
  return [
    // The indices hold only what is about something, and the planner must see that this is.
    ...(query.vmId === undefined ? [] : ["vm_id = $vmId AND vm_id <> ''"]),
    ...(query.hostId === undefined ? [] : ["host_id = $hostId AND host_id <> ''"]),
    ...(query.requestId === undefined ? [] : ["request_id = $requestId AND request_id <> ''"]),
    ...(query.since === undefined ? [] : ['at >= $since AND id >= $fromId']),
    ...(query.beforeId === undefined ? [] : ['id < $beforeId']),
    ...(query.afterId === undefined ? [] : ['id > $afterId']),
    ...(about && query.tenants ? ['tenant IN (SELECT value FROM json_each($tenants))'] : []),
    ...(about && query.action !== undefined
      ? [query.action.endsWith('.') ? 'action >= $action AND action < $actionEnd' : 'action = $action']
      : []),
  ]
}

function paramsOf(query: AuditQuery, about: boolean): Row {
  const { vmId, hostId, requestId, since, beforeId, afterId, action, tenants, limit } = query
  return {
    limit,
    ...(vmId === undefined ? {} : { vmId }),
    ...(hostId === undefined ? {} : { hostId }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(since === undefined ? {} : { since: since.toISOString() }),
    ...(beforeId === undefined ? {} : { beforeId }),
    ...(afterId === undefined ? {} : { afterId }),
    ...(about && tenants ? { tenants: JSON.stringify(tenants) } : {}),
    ...(about && action !== undefined ? { action } : {}),
    ...(about && action?.endsWith('.') ? { actionEnd: `${action}\u{10ffff}` } : {}),
  }
}
