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
