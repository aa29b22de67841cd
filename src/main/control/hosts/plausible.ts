import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'

/** Years 1 to 9999 in seconds since 1970: what a Timestamp may be and a Date can show. */
const FIRST_S = -62_135_596_800n
const LAST_S = 253_402_300_799n
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Makes values of a host's message that no client could show or store into ones that every client can, in place: numbers
 * end at 2^53 - 1, times that are none and numbers that are not finite become absent, or 0 where absence cannot be said.
 */
export function makePlausible(desc: DescMessage, message: Message): void {
  const fields = message as unknown as Record<string, unknown>
  for (const field of desc.fields) {
    if (field.oneof) {
      const chosen = fields[field.oneof.localName] as { case?: string; value?: unknown }
      if (chosen.case === field.localName) chosen.value = plausible(field, chosen.value)
      continue
    }
    const value = fields[field.localName]
    if (value === undefined) continue
    if (field.fieldKind === 'list') {
      const list = value as unknown[]
      if (isChecked(field)) for (const [i, one] of list.entries()) list[i] = plausible(field, one)
    } else if (isChecked(field)) {
      const told = plausible(field, value)
      if (told === undefined) delete fields[field.localName]
      else fields[field.localName] = told
    }
  }
}

const isChecked = (field: DescField): boolean =>
  field.message !== undefined || (field.scalar !== undefined && NUMBERS.has(field.scalar))

const NUMBERS: ReadonlySet<ScalarType> = new Set([
  ScalarType.UINT64,
  ScalarType.INT64,
  ScalarType.FIXED64,
  ScalarType.SINT64,
  ScalarType.SFIXED64,
  ScalarType.DOUBLE,
  ScalarType.FLOAT,
])

function plausible(field: DescField, value: unknown): unknown {
  if (typeof value === 'bigint') return value > LARGEST ? LARGEST : value < -LARGEST ? -LARGEST : value
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined
  if (!field.message || typeof value !== 'object' || value === null) return value
  const inner = value as Message
  if (inner.$typeName === 'google.protobuf.Timestamp') return isTime(inner as Timestamp) ? inner : undefined
  makePlausible(field.message, inner)
  return inner
}

const isTime = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= FIRST_S && seconds <= LAST_S && nanos >= 0 && nanos < 1_000_000_000
