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
  /** Its words, each behind a space. */
  spaced: string
}

const MAX_RESULTS = 50
const RANKS = 4

/** Made once for a state of the fleet; what is typed is only looked up in it. */
export const paletteIndex = <T extends PaletteEntry>(entries: readonly T[]): IndexedEntry<T>[] =>
  entries.map((entry) => {
    const low = entry.text.toLowerCase()
    const words = `${low} ${entry.words ?? ''}`.replace(/[^\p{L}\p{N}]+/gu, ' ')
    return { entry, low, spaced: ` ${words}` }
  })

/** How well an entry answers: exact, prefix, start of a word, letters in order; undefined = not at all. */
export function rankOf({ low, spaced }: Pick<IndexedEntry<PaletteEntry>, 'low' | 'spaced'>, query: string) {
  if (low === query) return 0
  if (low.startsWith(query)) return 1
  if (spaced.includes(` ${query}`)) return 2
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
    const rank = text === '' ? 0 : rankOf(indexed, text)
    const bucket = rank === undefined ? undefined : found[rank]
    if (bucket && bucket.length < MAX_RESULTS) bucket.push(indexed.entry)
  }
  return found.flat().slice(0, MAX_RESULTS)
}
