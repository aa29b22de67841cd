import type { AuditEntry } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'

const VALUE_CHARS = 32
const WHOLE_CHARS = 160

/** What an entry is about and what it changed, one line of at most 160 characters; the JSON has it all. */
export function changeWord({ detail, before, after }: AuditEntry): string {
  const [was, is] = [fieldsOf(before), fieldsOf(after)]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((name) => detail[name] === undefined)
  const said = Object.entries(detail).map(([name, value]) => `${name}=${value}`)
  const changed = names.map((name) => {
    if (before !== '' && after !== '') return `${name}: ${short(was[name])} → ${short(is[name])}`
    return `${name}: ${short(was[name] ?? is[name])}`
  })
  return cut([said.join(' '), changed.join(', ')].filter(Boolean).join('; '), WHOLE_CHARS)
}

/** `0.4 s`, `12 s`, `3 min`, `2 h`. */
export function tookWord(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

function fieldsOf(json: string): Record<string, unknown> {
  try {
    return json === '' ? {} : (JSON.parse(json) as Record<string, unknown>)
  } catch {
    return {}
  }
}

const short = (value: unknown): string =>
  value === undefined || value === null || value === ''
    ? 'none'
    : cut(typeof value === 'string' ? value : JSON.stringify(value), VALUE_CHARS)

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
