export type SortKey = string | number | undefined

export interface Ordering<T> {
  /** Names what is sorted by; the same name and direction means the same order. */
  id: string
  desc: boolean
  key: (row: T) => SortKey
}

/** One row in its place. It is kept for as long as a row of its id is there; `row` and `key` are the newest. */
export interface PlacedRow<T> {
  readonly id: string
  row: T
  key: SortKey
  /** Rows of the same key stay in the order they came in. */
  seq: number
}

/** More than one changed row in this many are sorted anew instead of put in one by one. */
const ANEW = 8
/** As wide as a number in text is made. */
const ZEROS = '0'.repeat(12)

/** Text as people sort it: `web-9` before `web-10`, capitals beside small letters. Compared by `<`. */
export function sortKeyOf(key: SortKey): SortKey {
  if (typeof key !== 'string') return Number.isNaN(key) ? undefined : key
  const text = key.toLowerCase()
  let sortable = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    if (!isDigit(text, at)) continue
    let end = at + 1
    while (end < text.length && isDigit(text, end)) end++
    sortable += text.slice(from, at) + ZEROS.slice(end - at) + text.slice(at, end)
    from = end
    at = end
  }
  return sortable + text.slice(from)
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** Rows in order, kept so while they change: only changed rows are looked at, and only those that moved are put elsewhere. */
export class RowOrder<T extends object> {
  readonly #idOf: (row: T) => string
  #rows: readonly T[] = []
  #placed: PlacedRow<T>[] = []
  #byId = new Map<string, PlacedRow<T>>()
  #sorted: PlacedRow<T>[] = []
  #by: Ordering<T> | undefined
  #seq = 0
  #late = false
  /** Of each ordering, for as long as a row is there: a second look at a column costs nothing. */
  readonly #keys = new Map<string, WeakMap<T, { key: SortKey }>>()

  constructor(idOf: (row: T) => string) {
    this.#idOf = idOf
  }

  /** Whether the order was held back and is not that of the keys now. */
  get isLate(): boolean {
    return this.#late
  }

  /** `held`: no row may move now; gone rows go, new ones stand at the end. A new array whenever anything changed. */
  update(rows: readonly T[], by: Ordering<T>, held = false): readonly PlacedRow<T>[] {
    if (by.id !== this.#by?.id || by.desc !== this.#by.desc) {
      this.#by = by
      this.#take(rows)
      for (const placed of this.#placed) placed.key = this.keyOf(placed.row, by)
      return this.#sortAll()
    }
    this.#by = by
    if (rows === this.#rows) return this.#late && !held ? this.#sortAll() : this.#sorted
    const { moved, fresh, gone } = this.#take(rows)
    const away = moved.size + fresh.length
    if (!held && (this.#late || away * ANEW > rows.length)) return this.#sortAll()
    const leaves = (one: PlacedRow<T>) => gone.has(one) || (!held && moved.has(one))
    const stay = moved.size + gone.size === 0 ? this.#sorted.slice() : this.#sorted.filter((one) => !leaves(one))
    if (held) {
      this.#late ||= away > 0
      this.#sorted = [...stay, ...fresh]
    } else this.#sorted = away === 0 ? stay : merge(stay, [...moved, ...fresh].sort(this.#compare), this.#compare)
    return this.#sorted
  }

  /** What a row is sorted by, made once; asked for ahead of time it is ready when somebody sorts by it. */
  keyOf(row: T, { id, key }: Pick<Ordering<T>, 'id' | 'key'>): SortKey {
    const keys = this.#keys.get(id) ?? new WeakMap<T, { key: SortKey }>()
    this.#keys.set(id, keys)
    const known = keys.get(row)
    if (known) return known.key
    const made = sortKeyOf(key(row))
    keys.set(row, { key: made })
    return made
  }

  #compare = (a: PlacedRow<T>, b: PlacedRow<T>): number => {
    if (a.key === b.key) return a.seq - b.seq
    if (a.key === undefined) return 1
    if (b.key === undefined) return -1
    return (a.key < b.key ? -1 : 1) * (this.#by?.desc ? -1 : 1)
  }

  #sortAll(): readonly PlacedRow<T>[] {
    this.#late = false
    this.#sorted = this.#placed.slice().sort(this.#compare)
    return this.#sorted
  }

  /** Takes the rows in and says which no longer stand where they should, which are new, and which are gone. */
  #take(rows: readonly T[]) {
    const moved = new Set<PlacedRow<T>>()
    const fresh: PlacedRow<T>[] = []
    const before = this.#rows
    const placed = this.#placed
    this.#rows = rows
    if (rows.length === before.length && this.#takeInPlace(rows, before, moved))
      return { moved, fresh, gone: new Set<PlacedRow<T>>() }
    const gone = new Set(placed)
    this.#placed = rows.map((row) => {
      const one = this.#placeOf(row, moved, fresh)
      gone.delete(one)
      return one
    })
    for (const one of gone) this.#byId.delete(one.id)
    return { moved, fresh, gone }
  }

  /** The common case: the same rows in the same places, some of them newer. False = it is another list. */
  #takeInPlace(rows: readonly T[], before: readonly T[], moved: Set<PlacedRow<T>>): boolean {
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      if (row === before[i]) continue
      const one = this.#placed[i]
      if (!one || this.#idOf(row) !== one.id) return false
      this.#renew(one, row, moved)
    }
    return true
  }

  #placeOf(row: T, moved: Set<PlacedRow<T>>, fresh: PlacedRow<T>[]): PlacedRow<T> {
    const id = this.#idOf(row)
    const known = this.#byId.get(id)
    if (known) {
      if (known.row !== row) this.#renew(known, row, moved)
      return known
    }
    const made: PlacedRow<T> = { id, row, key: this.#by && this.keyOf(row, this.#by), seq: this.#seq++ }
    this.#byId.set(id, made)
    fresh.push(made)
    return made
  }

  #renew(one: PlacedRow<T>, row: T, moved: Set<PlacedRow<T>>): void {
    one.row = row
    const key = this.#by && this.keyOf(row, this.#by)
    if (key === one.key) return
    one.key = key
    moved.add(one)
  }
}

function merge<E>(left: readonly E[], right: readonly E[], compare: (a: E, b: E) => number): E[] {
  const out: E[] = []
  let l = 0
  for (const one of right) {
    while (l < left.length && compare(left[l]!, one) <= 0) out.push(left[l++]!)
    out.push(one)
  }
  while (l < left.length) out.push(left[l++]!)
  return out
}
