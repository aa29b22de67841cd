/** One way to go on with the word that is being typed. */
export interface Suggestion {
  /** What takes the place of the word. */
  insert: string
  text: string
  /** How often it is there, or what a field is for. */
  hint: string
}

export interface Suggestions {
  /** The word in the text, from and to. */
  from: number
  to: number
  items: readonly Suggestion[]
  /** The first is meant unless another is chosen: a value of a field that was named. */
  firstIsMeant: boolean
}

const MAX_SHOWN = 9
const NONE: Suggestions = { from: 0, to: 0, items: [], firstIsMeant: false }

/** Distinct values of a field in the order they are offered. */
export type ValuesOf = (field: string) => readonly { value: string; count?: number }[]

/** What the word at the caret may become: a field, or a value of the field it names. */
export function suggestionsFor(
  text: string,
  caret: number,
  fields: readonly string[],
  valuesOf: ValuesOf,
): Suggestions {
  const { from, to } = wordAt(text, caret)
  const word = text.slice(from, to)
  const not = word.startsWith('-') ? '-' : ''
  const body = word.slice(not.length)
  const colon = body.indexOf(':')
  const field = colon > 0 ? body.slice(0, colon).toLowerCase() : undefined
  if (field === undefined) return { from, to, items: fieldsFor(body, not, fields), firstIsMeant: false }
  if (!fields.includes(field)) return NONE
  const typed = body
    .slice(colon + 1)
    .replaceAll('"', '')
    .toLowerCase()
  const items = valuesFor(typed, `${not}${field}:`, valuesOf(field))
  const isWhole = items.length === 1 && items[0]?.text.replaceAll('"', '').toLowerCase() === typed
  return isWhole ? NONE : { from, to, items, firstIsMeant: typed !== '' }
}

function fieldsFor(typed: string, not: string, fields: readonly string[]): Suggestion[] {
  const start = typed.toLowerCase()
  return fields
    .filter((field) => field.startsWith(start))
    .slice(0, MAX_SHOWN)
    .map((field) => ({ insert: `${not}${field}:`, text: `${field}:`, hint: not ? 'without' : 'only' }))
}

function valuesFor(typed: string, prefix: string, values: ReturnType<ValuesOf>): Suggestion[] {
  const bare = (value: string) => value.replaceAll('"', '').toLowerCase()
  const starts = values.filter(({ value }) => bare(value).startsWith(typed))
  const holds = values.filter((v) => !starts.includes(v) && bare(v.value).includes(typed))
  return [...starts, ...holds].slice(0, MAX_SHOWN).map(({ value, count }) => ({
    insert: `${prefix}${quoted(value)}`,
    text: value,
    hint: count === undefined ? '' : `${count}`,
  }))
}

/** As it is typed: quotes of the value itself count nowhere. */
function quoted(value: string): string {
  const bare = value.replaceAll('"', '')
  return /\s/.test(bare) ? `"${bare}"` : bare
}

/** The word around the caret; a quoted one is whole. */
function wordAt(text: string, caret: number): { from: number; to: number } {
  for (const match of text.matchAll(/-?(?:[a-z]+:)?"[^"]*"?|\S+/gi)) {
    const to = match.index + match[0].length
    if (match.index <= caret && caret <= to) return { from: match.index, to }
  }
  return { from: caret, to: caret }
}

/** The text with a suggestion in place of its word, and where the caret stands then. */
export function accepted(text: string, { from, to }: Suggestions, { insert }: Suggestion) {
  const after = text.slice(to).trimStart()
  const isOpen = insert.endsWith(':')
  const before = `${text.slice(0, from)}${insert}${isOpen ? '' : ' '}`
  return { text: `${before}${after}`, caret: before.length }
}

const MAX_VALUES = 200

/** Values of one column of the records, counted, the most frequent first. */
export function countValues(values: Iterable<string>): { value: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || a.value.localeCompare(b.value))
    .slice(0, MAX_VALUES)
}
