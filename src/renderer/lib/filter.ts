/** One word of a filter: bare text matches any column, `field:value` one of them, a leading `-` turns it round. */
export interface FilterTerm {
  field: string | undefined
  text: string
  not: boolean
}

/** What a row offers to a filter: column name → its text. */
export type FilterRecord = Record<string, string>

/** Words are split at spaces, `"…"` keeps them together. A colon after an unknown field is plain text (addresses). */
export function parseFilter(source: string, fields: readonly string[]): FilterTerm[] {
  const terms: FilterTerm[] = []
  for (const [raw] of source.matchAll(/-?(?:[a-z]+:)?"[^"]*"?|\S+/gi)) {
    const not = raw.startsWith('-') && raw.length > 1
    const body = not ? raw.slice(1) : raw
    const colon = body.indexOf(':')
    const field = colon > 0 ? body.slice(0, colon).toLowerCase() : undefined
    const known = field !== undefined && fields.includes(field)
    const text = (known ? body.slice(colon + 1) : body).replaceAll('"', '').toLowerCase()
    if (text !== '' || known) terms.push({ field: known ? field : undefined, text, not })
  }
  return terms
}

/** A record as it is matched: lower-cased once, and all of it in one text for bare words. */
export interface PreparedRecord {
  whole: string
  columns: FilterRecord
}

/** Stands between the values of a column that has several of them, which may have spaces. */
export const BETWEEN_VALUES = '\n'

/** Stands between columns in the whole text, so that no word is found across two of them. */
const BETWEEN = '\n'

export function prepareRecord(record: FilterRecord): PreparedRecord {
  const columns: FilterRecord = {}
  // A quote only keeps words together: it counts neither in a filter nor in what is looked at.
  for (const field in record) columns[field] = (record[field] ?? '').replaceAll('"', '').toLowerCase()
  return { columns, whole: Object.values(columns).join(BETWEEN) }
}

/** All terms must hold; text matches anywhere in a column, whatever its case. An unfinished `field:` holds for all. */
export function matchesPrepared({ whole, columns }: PreparedRecord, terms: readonly FilterTerm[]): boolean {
  for (const { field, text, not } of terms) {
    if (text === '') continue
    const within = field === undefined ? whole : (columns[field] ?? '')
    if (within.includes(text) === not) return false
  }
  return true
}

export const matchesFilter = (record: FilterRecord, terms: readonly FilterTerm[]): boolean =>
  matchesPrepared(prepareRecord(record), terms)
