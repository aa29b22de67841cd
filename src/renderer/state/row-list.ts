/** What screens ask of rows by id. */
export type ById<T> = Pick<ReadonlyMap<string, T>, 'get' | 'has' | 'size'> & { values: () => Iterable<T> }

/** Rows by id. To change some of ten thousand costs a copy of the array, not of an index: versions share it while rows only come and change. */
export class RowList<T extends { id: string }> {
  readonly #rows: readonly T[]
  /** May know ids of a later version: those stand behind the rows of this one. */
  readonly #index: Map<string, number>

  constructor(rows: readonly T[] = [], index = new Map(rows.map(({ id }, at) => [id, at]))) {
    this.#rows = rows
    this.#index = index
  }

  get size(): number {
    return this.#rows.length
  }

  get(id: string): T | undefined {
    const at = this.#index.get(id)
    return at === undefined ? undefined : this.#rows[at]
  }

  has(id: string): boolean {
    return this.get(id) !== undefined
  }

  values(): ArrayIterator<T> {
    return this.#rows.values()
  }

  /** This list with some rows changed or added at the end; `undefined` takes one out. */
  with(changes: ReadonlyMap<string, T | undefined>): RowList<T> {
    const rows: (T | undefined)[] = this.#rows.slice()
    const fresh: T[] = []
    let isShorter = false
    for (const [id, row] of changes) {
      const at = this.has(id) ? this.#index.get(id) : undefined
      if (at !== undefined) {
        rows[at] = row
        isShorter ||= row === undefined
      } else if (row) fresh.push(row)
    }
    const next = [...(isShorter ? rows.filter((row) => row !== undefined) : (rows as T[])), ...fresh]
    // An index another version has added to is that one's to add to.
    if (isShorter || (fresh.length > 0 && this.#index.size !== this.#rows.length)) return new RowList(next)
    for (const { id } of fresh) this.#index.set(id, this.#index.size)
    return new RowList(next, this.#index)
  }
}
