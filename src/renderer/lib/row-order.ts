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
  /** The list it was last in. */
  list: number
}

/** More than one changed row in this many are sorted anew instead of put in one by one. */
const ANEW = 8
/** Rows that left and may come back, as they do when a filter is taken off, keep their place; more are forgotten. */
const MAX_LEFT = 20_000
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
  /** Those of `#rows`, one by one. */
  #placed: PlacedRow<T>[] = []
  #byId = new Map<string, PlacedRow<T>>()
  /** In order, those that left among them. */
  #order: PlacedRow<T>[] = []
  #shown: readonly PlacedRow<T>[] = []
  #by: Ordering<T> | undefined
  #list = 0
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
    if (rows === this.#rows) return this.#late && !held ? this.#sortAll() : this.#shown
    const { moved, fresh, back } = this.#take(rows)
    const away = moved.size + fresh.length
    if (held) {
      this.#late ||= away + back.length > 0
      this.#shown = [...this.#shown.filter((one) => this.#isIn(one)), ...back, ...fresh]
      // Where those stand that are new is found out once rows may move.
      return this.#shown
    }
    const tooMany = this.#byId.size > rows.length + MAX_LEFT
    if (this.#late || tooMany || away * ANEW > rows.length) return this.#sortAll()
    if (away > 0) {
      const stay = moved.size === 0 ? this.#order : this.#order.filter((one) => !moved.has(one))
      this.#order = merge(stay, [...moved, ...fresh].sort(this.#compare), this.#compare)
    }
    this.#shown = this.#order.filter((one) => this.#isIn(one))
    return this.#shown
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

  #isIn(one: PlacedRow<T>): boolean {
    return one.list === this.#list
  }

  #sortAll(): readonly PlacedRow<T>[] {
    this.#late = false
    for (const one of this.#byId.values()) if (!this.#isIn(one)) this.#byId.delete(one.id)
    this.#order = this.#placed.slice().sort(this.#compare)
    this.#shown = this.#order
    return this.#shown
  }

  /** Takes the rows in and says which no longer stand where they should, which are new, and which are there again. */
  #take(rows: readonly T[]) {
    const moved = new Set<PlacedRow<T>>()
    const fresh: PlacedRow<T>[] = []
    const back: PlacedRow<T>[] = []
    const before = this.#rows
    this.#rows = rows
    if (rows.length === before.length && this.#takeInPlace(rows, before, moved)) return { moved, fresh, back }
    const last = this.#list++
    this.#placed = rows.map((row) => {
      const one = this.#placeOf(row, moved, fresh)
      if (one.list < last) back.push(one)
      one.list = this.#list
      return one
    })
    return { moved, fresh, back }
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
    const made: PlacedRow<T> = {
      id,
      row,
      key: this.#by && this.keyOf(row, this.#by),
      seq: this.#seq++,
      list: this.#list,
    }
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
