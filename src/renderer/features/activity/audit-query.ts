import { AUDIT_RESULTS, type AuditResult } from '../../../ipc/audit-results.ts'
import { isId } from '../../../ipc/names.ts'
import type { FilterTerm } from '../../lib/filter.ts'

export const ACTIVITY_FIELDS = ['vm', 'host', 'action', 'result', 'client', 'user', 'request', 'since'] as const

/** What the trail itself narrows by, wherever an entry stands in it. */
export interface TrailFilter {
  vm: string
  host: string
  action: string
  requestId: string
  result: AuditResult | ''
  /** Ms since the epoch; undefined = from the first. */
  sinceMs: number | undefined
}

export interface ActivityQuery {
  trail: TrailFilter
  /** What is looked for among the entries read so far. */
  rest: FilterTerm[]
  /** What of the filter is no time. */
  problem: string | undefined
}

/** Names that are known now: a word that is still being typed narrows what was read, not the trail. */
export interface KnownNames {
  vms: ReadonlySet<string>
  hosts: ReadonlySet<string>
}

const ACTION = /^[a-z_-]+\.[a-z_-]*$/
const REQUEST = /^[\x21-\x7e]{8,64}$/
const UNITS: Record<string, number> = { min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** The first term of a field that can, goes to the trail; the others look through what was read. */
export function activityQuery(terms: readonly FilterTerm[], known: KnownNames, nowMs: number): ActivityQuery {
  const trail: TrailFilter = { vm: '', host: '', action: '', requestId: '', result: '', sinceMs: undefined }
  const rest: FilterTerm[] = []
  let problem: string | undefined
  for (const term of terms) {
    const { field, text, not } = term
    if (text === '') continue
    if (field === 'since') {
      const at = sinceOf(text, nowMs)
      if (at === undefined || not) problem = `since:${text} is no time; write since:2h, since:7d or since:2026-11-30`
      else trail.sinceMs = Math.max(trail.sinceMs ?? 0, at)
    } else if (not) rest.push(term)
    else if (field === 'vm' && trail.vm === '' && (known.vms.has(text) || isId(text))) trail.vm = text
    else if (field === 'host' && trail.host === '' && (known.hosts.has(text) || isId(text))) trail.host = text
    else if (field === 'action' && trail.action === '' && ACTION.test(text)) trail.action = text
    else if (field === 'request' && trail.requestId === '' && REQUEST.test(text)) trail.requestId = text
    else if (field === 'result' && trail.result === '' && resultOf(text)) trail.result = resultOf(text) ?? ''
    else rest.push(term)
  }
  return { trail, rest, problem }
}

const resultOf = (text: string) => AUDIT_RESULTS.find((result) => result === text.toLowerCase())

/** `2h` back from now, the begin of a local day `2026-11-30`, or a time `2026-11-30t14:02`. */
export function sinceOf(text: string, nowMs: number): number | undefined {
  const [, n, unit = ''] = /^(\d{1,5})(min|m|h|d|w)$/.exec(text) ?? []
  if (n !== undefined) return nowMs - Number(n) * (UNITS[unit] ?? 0)
  const [, day, time = '00:00'] = /^(\d{4}-\d{2}-\d{2})(?:t(\d{2}:\d{2}))?$/.exec(text) ?? []
  if (day === undefined) return undefined
  const at = new Date(`${day}T${time}:00`).getTime()
  return Number.isNaN(at) ? undefined : at
}

/** The filter with `field:value` in place of what it said of that field. */
export function withField(filter: string, field: string, value: string): string {
  const quoted = /\s/.test(value) ? `"${value}"` : value
  const others = filter.match(/-?(?:[a-z]+:)?"[^"]*"?|\S+/gi)?.filter((word) => !word.startsWith(`${field}:`)) ?? []
  return [...others, `${field}:${quoted}`].join(' ')
}
