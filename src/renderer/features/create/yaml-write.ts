import { plainValue } from '../../../ipc/cloud-init/yaml-value.ts'

/** What no scalar can begin with, or hold, without quotes. */
const NOT_PLAIN = /^[\s\-?:,[\]{}#&*!|>'"%@`]|[\s:]$|:\s|\s#|[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]/
const NEEDS_ESCAPES = /[^\x20-\x7e\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '"': '\\"', '\\': '\\\\' }

/** A value in one line that PyYAML reads as this very text, quoted only where it must be. */
export function scalarOf(value: string | boolean): string {
  if (typeof value === 'boolean') return String(value)
  if (NEEDS_ESCAPES.test(value)) return `"${[...value].map(escaped).join('')}"`
  const isText = plainValue(value).type === 'text' && !NOT_PLAIN.test(value)
  return isText ? value : `'${value.replaceAll("'", "''")}'`
}

function escaped(char: string): string {
  const short = ESCAPES[char]
  if (short) return short
  const code = char.codePointAt(0) ?? 0
  if (!NEEDS_ESCAPES.test(char) || code > 0xffff) return char
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** Whether a text of several lines can stand as it is under a `|`. */
export const fitsBlock = (value: string): boolean =>
  value.includes('\n') && value.trim() !== '' && !/[^\n\t\x20-\x7e\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/.test(value)

/** The header and the lines of a `|` block under a key at `column`. */
export function blockOf(value: string, column: number, eol: string): { header: string; lines: string } {
  const body = value.replace(/\n+$/, '')
  const breaks = value.length - body.length
  const indent = ' '.repeat(column + 2)
  // Where its first line is indented itself, the block must say where it begins.
  const increment = /^\n*[ \t]/.test(body) ? '2' : ''
  const chomp = breaks === 0 ? '-' : breaks === 1 ? '' : '+'
  const lines = body.split('\n').map((line) => (line === '' ? '' : indent + line))
  return { header: `|${increment}${chomp}`, lines: [...lines, ...Array(Math.max(0, breaks - 1)).fill('')].join(eol) }
}

/** Of one item of a list, or of a key: text, true or false, a list of texts, or a map of these. */
export type NewValue =
  | string
  | boolean
  | readonly string[]
  | { readonly [key: string]: string | boolean | readonly string[] }

/** `key: value` at a column; the first line comes without its indentation. */
export function pairOf(key: string, value: NewValue, column: number, eol: string): string {
  const indent = ' '.repeat(column)
  if (typeof value === 'string' && fitsBlock(value)) {
    const { header, lines } = blockOf(value, column, eol)
    return `${key}: ${header}${eol}${lines}`
  }
  if (typeof value === 'string' || typeof value === 'boolean') return `${key}: ${scalarOf(value)}`
  if (Array.isArray(value)) return [`${key}:`, ...value.map((one) => `${indent}  - ${scalarOf(one)}`)].join(eol)
  return [`${key}:`, `${indent}  ${itemOf(value, column + 2, eol)}`].join(eol)
}

/** What stands behind the hyphen of an item whose content begins at `column`. */
export function itemOf(value: NewValue, column: number, eol: string): string {
  if (typeof value === 'string' && fitsBlock(value)) {
    const { header, lines } = blockOf(value, column - 2, eol)
    return `${header}${eol}${lines}`
  }
  if (typeof value === 'string' || typeof value === 'boolean') return scalarOf(value)
  if (Array.isArray(value)) return `[${value.map((one) => scalarOf(one)).join(', ')}]`
  const indent = ' '.repeat(column)
  return Object.entries(value)
    .map(([key, one], i) => (i === 0 ? '' : indent) + pairOf(key, one, column, eol))
    .join(eol)
}
