/** Named in the trail without their values: the trail is for everyone who may look. */
const SECRET = /password|passphrase|secret|token|private/i
/** People put passwords into it. */
const USER_DATA = /cloud_?init|user_?data/i
const VALUE_CHARS = 512
const WHOLE_CHARS = 8_192

/** What a row is called and what its host says of it: nobody decided it. */
const NOT_DECIDED = new Set([
  ...['id', 'tenant', 'hostId', 'vmId', 'createdAt', 'epoch', 'sentEpoch'],
  ...['lastSeenAt', 'facts', 'capacity', 'lastError', 'lastReason', 'assignedIp', 'networkIp'],
])

type Fields = Readonly<Record<string, unknown>>

/** JSON objects of the fields that differ, snake_case. Absent = it was not there, or is not any more. */
export interface ChangedFields {
  before?: string
  after?: string
}

/** What a mutation changed, for its audit row: 8 KiB of each side at most, no secrets. Undefined = nothing. */
export function changedFields(before: object | undefined, after: object | undefined): ChangedFields | undefined {
  const [was, is] = [(before ?? {}) as Fields, (after ?? {}) as Fields]
  const differs = (name: string) => !NOT_DECIDED.has(name) && !same(was[name], is[name])
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(differs)
  if (names.length === 0) return undefined
  return {
    ...(before ? { before: written(names, was) } : {}),
    ...(after ? { after: written(names, is) } : {}),
  }
}

function same(a: unknown, b: unknown): boolean {
  const nothing = (value: unknown) => value === undefined || value === null || value === ''
  return (nothing(a) && nothing(b)) || JSON.stringify(a, whole) === JSON.stringify(b, whole)
}

function written(names: readonly string[], fields: Fields): string {
  const parts: string[] = []
  let left = WHOLE_CHARS - '"and_more":true'.length - 2
  for (const name of names) {
    const part = `${JSON.stringify(snake(name))}:${kept(name, fields[name])}`
    left -= part.length + 1
    if (left < 0) {
      parts.push('"and_more":true')
      break
    }
    parts.push(part)
  }
  return `{${parts.join(',')}}`
}

function kept(name: string, value: unknown): string {
  const text = JSON.stringify({ [name]: value }, plain).slice(JSON.stringify(name).length + 2, -1) || 'null'
  return text.length <= VALUE_CHARS ? text : JSON.stringify(`${text.slice(0, VALUE_CHARS)}…`)
}

/** Of `JSON.stringify`, for what it cannot write. */
const whole = (_: string, value: unknown): unknown =>
  typeof value === 'bigint'
    ? String(value)
    : value instanceof Uint8Array
      ? Buffer.from(value).toString('base64')
      : value

/** Of `JSON.stringify`, for what it cannot write and what must not be written. */
function plain(this: unknown, key: string, value: unknown): unknown {
  const raw = key === '' ? value : (this as Fields)[key]
  if (raw === undefined || raw === null || raw === '') return raw
  if (SECRET.test(key)) return '(secret)'
  if (USER_DATA.test(key) || raw instanceof Uint8Array) return '(not kept)'
  return typeof raw === 'bigint' ? String(raw) : value
}

const snake = (field: string) => field.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
