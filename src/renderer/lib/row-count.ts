/** How many rows something holds for, kept while they change: only changed rows are asked again. */
export class RowCount<T> {
  readonly #holds: (row: T) => boolean
  #rows: readonly T[] = []
  #held: boolean[] = []
  #count = 0

  constructor(holds: (row: T) => boolean) {
    this.#holds = holds
  }

  update(rows: readonly T[]): number {
    const before = this.#rows
    if (rows === before) return this.#count
    this.#rows = rows
    let count = 0
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      const holds = i < before.length && row === before[i] ? this.#held[i]! : this.#holds(row)
      this.#held[i] = holds
      if (holds) count++
    }
    this.#held.length = rows.length
    this.#count = count
    return count
  }
}
