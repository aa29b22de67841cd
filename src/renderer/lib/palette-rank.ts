export interface PaletteEntry {
  id: string
  /** `>` actions, `@` VMs, `#` hosts. */
  kind: '>' | '@' | '#'
  text: string
  hint: string
}

const MAX_RESULTS = 40

/** How well a text answers a query: exact, prefix, start of a word, letters in order; undefined = not at all. */
export function rankOf(text: string, query: string): number | undefined {
  const t = text.toLowerCase()
  const q = query.toLowerCase()
  if (t === q) return 0
  if (t.startsWith(q)) return 1
  if (t.split(/[^a-z0-9]+/).some((word) => word.startsWith(q))) return 2
  let at = -1
  for (const letter of q) {
    at = t.indexOf(letter, at + 1)
    if (at < 0) return undefined
  }
  return 3
}

/** The same answer for the same text, always: by rank, ties in the order given. A leading `>`, `@` or `#` keeps one kind. */
export function paletteResults(entries: readonly PaletteEntry[], query: string): PaletteEntry[] {
  const kind = /^[>@#]/.test(query) ? query[0] : undefined
  const text = (kind ? query.slice(1) : query).trim()
  return entries
    .filter((e) => kind === undefined || e.kind === kind)
    .map((entry, order) => ({ entry, order, rank: text === '' ? 0 : rankOf(entry.text, text) }))
    .filter((r): r is typeof r & { rank: number } => r.rank !== undefined)
    .sort((a, b) => a.rank - b.rank || a.order - b.order)
    .slice(0, MAX_RESULTS)
    .map((r) => r.entry)
}
