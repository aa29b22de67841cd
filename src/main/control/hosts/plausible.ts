import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { asText, isName, LARGEST, leastOf, mostOf, quoted, WHOLE, type Words, wordsOf } from './plausible-bounds.ts'

/** Years 1 to 9999 in seconds since 1970: what a Timestamp may be and a Date can show. */
const FIRST_S = -62_135_596_800n
const LAST_S = 253_402_300_799n
/** Of one message so many are told by name. */
const MAX_TOLD = 20
const SHOWN_CHARS = 40

/** What was taken out of a message, for as long as somebody has the message. */
const refusals = new WeakMap<Message, string[]>()

/** `NaN for metrics load1` of each value a host said in this message that cannot be, at most 20. */
export const refusedIn = (message: Message): readonly string[] => refusals.get(message) ?? []

/**
 * Takes out of a host's message what cannot be, in place: numbers past what any machine has, or that are none, times no
 * Date can show, names with control characters become absent, or 0 and '' where absence cannot be said. What only is
 * larger than every client can count ends at 2^53 - 1. `refusedIn` says what was taken.
 */
export function makePlausible(desc: DescMessage, message: Message): void {
  const told: string[] = []
  clean(desc, message, { told, path: '' })
  if (told.length > 0) refusals.set(message, told)
}

interface At {
  told: string[]
  path: string
}

interface Check {
  field: DescField
  name: string
  most: bigint | undefined
  least: bigint
  words: Words | undefined
}

const checksByMessage = new WeakMap<DescMessage, Check[]>()

function checksOf(desc: DescMessage): Check[] {
  const known = checksByMessage.get(desc)
  if (known) return known
  const checks = desc.fields
    .filter((field) => field.oneof || field.message !== undefined || isNumber(field) || wordsOf(field))
    .map((field) => {
      const most = isNumber(field) ? mostOf(field) : undefined
      const least = most === undefined ? 0n : leastOf(field, most)
      return { field, name: field.name.replaceAll('_', ' '), most, least, words: wordsOf(field) }
    })
  checksByMessage.set(desc, checks)
  return checks
}

const NOT_NUMBERS: ReadonlySet<ScalarType> = new Set([ScalarType.STRING, ScalarType.BYTES, ScalarType.BOOL])
const isNumber = ({ scalar }: DescField): boolean => scalar !== undefined && !NOT_NUMBERS.has(scalar)

/** False = the message means nothing without what was taken out of it. */
function clean(desc: DescMessage, message: Message, at: At): boolean {
  const fields = message as unknown as Record<string, unknown>
  let whole = true
  for (const check of checksOf(desc)) {
    const { field, name } = check
    if (field.oneof) {
      cleanChosen(field, fields[field.oneof.localName] as { case?: string; value?: Message })
      continue
    }
    const value = fields[field.localName]
    if (value === undefined || value === '' || value === 0 || value === 0n) continue
    if (field.fieldKind === 'list') {
      fields[field.localName] = cleanList(check, value as unknown[], at)
      continue
    }
    const kept = cleaned(check, value, at, name)
    if (kept !== undefined) fields[field.localName] = kept
    else if (isAbsentable(field)) delete fields[field.localName]
    else {
      fields[field.localName] = none(field, value)
      whole = false
    }
  }
  return whole || !WHOLE.has(desc.typeName)
}

/** Of words those that cannot be leave the list; numbers and messages keep their place in it. */
function cleanList(check: Check, list: unknown[], at: At): unknown[] {
  const { field, name } = check
  const kept = list.map((one, i) => cleaned(check, one, at, `${name} ${i + 1}`) ?? none(field, one))
  return check.words === undefined ? kept : kept.filter((one) => one !== '')
}

/** Has a list of its own of what is taken: it is what others hold on to. */
function cleanChosen(field: DescField, chosen: { case?: string; value?: Message }): void {
  if (chosen.case === field.localName && field.message && chosen.value) makePlausible(field.message, chosen.value)
}

const isAbsentable = (field: DescField): boolean =>
  field.fieldKind === 'message' || (field.fieldKind === 'scalar' && field.presence !== IMPLICIT)
/** FeatureSet.FieldPresence.IMPLICIT */
const IMPLICIT = 2

/** Where absence cannot be said; of messages in a list an empty one. */
const none = (field: DescField, value: unknown): unknown =>
  field.message ? value : typeof value === 'bigint' ? 0n : typeof value === 'string' ? '' : 0

/** Undefined = it cannot be, which is told. */
function cleaned({ field, most, least, words }: Check, value: unknown, at: At, name: string): unknown {
  const path = at.path === '' ? name : `${at.path} ${name}`
  const refuse = (said: string) => {
    if (at.told.length < MAX_TOLD) at.told.push(`${said} for ${path}`)
    return undefined
  }
  if (typeof value === 'string') {
    if (words === 'text') return asText(value)
    return words === undefined || isName(value) ? value : refuse(shown(value))
  }
  if (typeof value === 'bigint') {
    if (most !== undefined) return value > most || value < least ? refuse(String(value)) : value
    return value > LARGEST ? LARGEST : value < -LARGEST ? -LARGEST : value
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return refuse(String(value))
    return most !== undefined && (value > Number(most) || value < Number(least)) ? refuse(String(value)) : value
  }
  if (!field.message || typeof value !== 'object' || value === null) return value
  const inner = value as Message
  if (inner.$typeName === 'google.protobuf.Timestamp')
    return isTime(inner as Timestamp) ? inner : refuse(`a time ${(inner as Timestamp).seconds} s from 1970`)
  if (clean(field.message, inner, { told: at.told, path: pathOf(path, inner) })) return inner
  return undefined
}

/** Of a VM its id, as people see it. */
function pathOf(path: string, inner: Message): string {
  const { vmId } = inner as unknown as { vmId?: unknown }
  return typeof vmId === 'string' && /^[0-9a-f]{8}/.test(vmId) ? `VM ${vmId.slice(0, 8)}` : path
}

const shown = (value: string): string =>
  value.length > SHOWN_CHARS
    ? `${quoted(value.slice(0, SHOWN_CHARS))} and ${value.length - SHOWN_CHARS} letters more`
    : quoted(value)

const isTime = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= FIRST_S && seconds <= LAST_S && nanos >= 0 && nanos < 1_000_000_000
