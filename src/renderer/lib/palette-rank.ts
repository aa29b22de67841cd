export interface PaletteEntry {
  id: string
  /** `>` actions, `@` VMs, `#` hosts, `:` settings; the others have no sign of their own. */
  kind: '>' | '@' | '#' | ':' | 'image' | 'port'
  text: string
  hint: string
  /** Other words it is found by, as well as by the start of a word of its text. */
  words?: string
}

/** An entry made ready once for every query. */
export interface IndexedEntry<T extends PaletteEntry> {
  entry: T
  low: string
  /** Its other words, each behind a space. */
  words: string
}

/** Twice what the list has room for; who does not see it there types one more letter. */
const MAX_RESULTS = 24
const RANKS = 4

/** What is typed is only looked up in it. */
export const indexedEntry = <T extends PaletteEntry>(entry: T): IndexedEntry<T> => ({
  entry,
  low: entry.text.toLowerCase(),
  words: entry.words === undefined ? '' : ` ${entry.words.toLowerCase()}`,
})

export const paletteIndex = <T extends PaletteEntry>(entries: readonly T[]): IndexedEntry<T>[] =>
  entries.map(indexedEntry)

const isInWord = (sign: string | undefined): boolean => sign !== undefined && /[\p{L}\p{N}]/u.test(sign)

/** How well an entry answers: exact, prefix, start of a word, letters in order; undefined = not at all. */
function rankOf({ low, words }: IndexedEntry<PaletteEntry>, query: string, lettersToo: boolean): number | undefined {
  const first = low.indexOf(query)
  if (first === 0) return low.length === query.length ? 0 : 1
  for (let at = first; at > 0; at = low.indexOf(query, at + 1)) if (!isInWord(low[at - 1])) return 2
  if (words !== '' && words.includes(` ${query}`)) return 2
  if (first > 0) return 3
  if (!lettersToo) return undefined
  let at = -1
  for (const letter of query) {
    at = low.indexOf(letter, at + 1)
    if (at < 0) return undefined
  }
  return 3
}

/** The same answer for the same text, always: by rank, ties in the order given. A leading sign keeps one kind. */
export function paletteResults<T extends PaletteEntry>(index: readonly IndexedEntry<T>[], query: string): T[] {
  const kind = /^[>@#:]/.test(query) ? query[0] : undefined
  const text = (kind ? query.slice(1) : query).trim().toLowerCase()
  const found: T[][] = Array.from({ length: RANKS }, () => [])
  for (const indexed of index) {
    if (kind !== undefined && indexed.entry.kind !== kind) continue
    // Letters in order are the weakest and dearest: not looked for once there are enough of them.
    const rank = text === '' ? 0 : rankOf(indexed, text, (found.at(-1)?.length ?? 0) < MAX_RESULTS)
    const bucket = rank === undefined ? undefined : found[rank]
    if (bucket && bucket.length < MAX_RESULTS) bucket.push(indexed.entry)
  }
  return found.flat().slice(0, MAX_RESULTS)
}
