import type { YamlNode, YamlScalar } from './yaml-tree.ts'

export type ScalarValue =
  | { type: 'text'; value: string }
  | { type: 'number'; value: bigint | number; written: 'decimal' | 'octal' | 'base60' | 'other' }
  | { type: 'truth'; value: boolean }
  | { type: 'nothing' }
  | { type: 'date'; exists: boolean }
  | { type: 'bytes' }
  /** `<<` and `=`, which mean something only as keys. */
  | { type: 'merge' }
  | { type: 'default' }
  /** A tag says what the text cannot be. */
  | { type: 'impossible' }

const TRUTH = /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/
const FLOAT =
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/
const INT =
  /^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/
const DATE =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?(?:[ \t]*(?:Z|[-+](\d\d?)(?::(\d\d))?))?)?$/
const SHORT_DATE = /^\d{4}-\d\d-\d\d$/

const KNOWN = new WeakMap<YamlScalar, ScalarValue>()

/** What PyYAML's SafeLoader makes of a scalar. */
export function scalarValue(node: YamlScalar): ScalarValue {
  const known = KNOWN.get(node)
  if (known) return known
  const value: ScalarValue =
    node.tag !== undefined
      ? tagged(node.tag, node.text)
      : node.style === 'plain'
        ? plainValue(node.text)
        : { type: 'text', value: node.text }
  KNOWN.set(node, value)
  return value
}

/** What text without quotes is by the rules of YAML 1.1. */
export function plainValue(text: string): ScalarValue {
  if (TRUTH.test(text)) return { type: 'truth', value: /^(?:y|t|on)/i.test(text) }
  if (FLOAT.test(text)) return float(text)
  if (INT.test(text)) return int(text)
  if (text === '<<') return { type: 'merge' }
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return { type: 'nothing' }
  const date = DATE.exec(text)
  if (date && (date[4] !== undefined || SHORT_DATE.test(text))) return { type: 'date', exists: dateExists(date) }
  return text === '=' ? { type: 'default' } : { type: 'text', value: text }
}

function tagged(tag: string, text: string): ScalarValue {
  const bare = text.replaceAll('_', '')
  switch (tag) {
    case '!!str':
      return { type: 'text', value: text }
    case '!!null':
      return { type: 'nothing' }
    case '!!binary':
      return /^[\0-\x7f]*$/.test(text) ? { type: 'bytes' } : { type: 'impossible' }
    case '!!bool':
      return /^(?:yes|no|true|false|on|off)$/i.test(text)
        ? { type: 'truth', value: /^(?:y|t|on)/i.test(text) }
        : { type: 'impossible' }
    case '!!int':
      return INT.test(text) || /^[-+]?[1-9]\d*(?::\d+)+$/.test(bare) ? int(text) : { type: 'impossible' }
    case '!!float':
      return FLOAT.test(text) || /^[-+]?\d+$/.test(bare) ? float(text) : { type: 'impossible' }
    case '!!timestamp': {
      const date = DATE.exec(text)
      return date ? { type: 'date', exists: dateExists(date) } : { type: 'impossible' }
    }
    default:
      return { type: 'impossible' }
  }
}

function int(text: string): ScalarValue {
  const bare = text.replaceAll('_', '')
  const sign = bare.startsWith('-') ? -1n : 1n
  const digits = bare.replace(/^[-+]/, '')
  const of = (value: bigint, written: 'decimal' | 'octal' | 'base60' | 'other'): ScalarValue => ({
    type: 'number',
    value: sign * value,
    written,
  })
  // Adding up sixties costs the square of their number, and nobody needs the sum.
  if (digits.length > 1000) return { type: 'number', value: Number.POSITIVE_INFINITY, written: 'other' }
  if (/^0[bx]$/.test(digits)) return { type: 'impossible' }
  if (/^0[bx]/.test(digits)) return of(BigInt(digits), 'other')
  if (/^0./.test(digits)) return of(BigInt(`0o${digits.slice(1)}`), 'octal')
  if (!digits.includes(':')) return of(BigInt(digits), 'decimal')
  return of(
    digits.split(':').reduce((sum, part) => sum * 60n + BigInt(part), 0n),
    'base60',
  )
}

function float(text: string): ScalarValue {
  const bare = text.replaceAll('_', '').toLowerCase()
  const sign = bare.startsWith('-') ? -1 : 1
  const digits = bare.replace(/^[-+]/, '')
  const of = (value: number, written: 'base60' | 'other'): ScalarValue => ({
    type: 'number',
    value: sign * value,
    written,
  })
  if (digits === '.inf') return of(Number.POSITIVE_INFINITY, 'other')
  if (digits === '.nan') return of(Number.NaN, 'other')
  if (!digits.includes(':')) return of(Number(digits), 'other')
  return of(
    digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0),
    'base60',
  )
}

function dateExists(match: RegExpExecArray): boolean {
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] =
    match.map(Number)
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  const isDay = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days
  const zone = (zoneHour || 0) * 60 + (zoneMinute || 0)
  return isDay && (hour || 0) < 24 && (minute || 0) < 60 && (second || 0) < 60 && zone < 24 * 60
}

/** The text of a scalar that is read as text; undefined for all else. */
export function textOf(node: YamlNode | undefined): string | undefined {
  const value = node?.kind === 'scalar' ? scalarValue(node) : undefined
  return value?.type === 'text' ? value.value : undefined
}

/** Whether nothing is given: an empty value, `~` or `null`. */
export const isNothing = (node: YamlNode): boolean => node.kind === 'scalar' && scalarValue(node).type === 'nothing'
