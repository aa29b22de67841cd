import { type FilterRecord, type FilterTerm, matchesPrepared, type PreparedRecord, prepareRecord } from './filter.ts'

/** What a row offers to a filter. `epoch` is a coarse time, for words that change by it. */
export type RecordOf<T> = (row: T, epoch: number) => FilterRecord

/** Whether what did not match before cannot match now: a letter or a word was added. */
function isNarrower(terms: readonly FilterTerm[], before: readonly FilterTerm[] = []): boolean {
  if (before.length === 0) return false
  return before.every(({ field, text, not }, i) => {
    const now = terms[i]
    if (now === undefined || now.field !== field || now.not !== not) return false
    return not ? now.text === text : now.text.includes(text)
  })
}

/** Rows that match a filter, kept while they change: only changed rows are matched again. */
export class RowFilter<T extends object> {
  readonly #recordOf: RecordOf<T>
  #prepared = new WeakMap<T, PreparedRecord>()
  #rows: readonly T[] = []
  #matches: boolean[] = []
  #shown: readonly T[] = []
  #terms: readonly FilterTerm[] | undefined
  #epoch = 0

  constructor(recordOf: RecordOf<T>) {
    this.#recordOf = recordOf
  }

  /** The same array as before when no row of it changed. */
  update(rows: readonly T[], terms: readonly FilterTerm[], epoch: number): readonly T[] {
    const anew = terms !== this.#terms || epoch !== this.#epoch
    if (!anew && rows === this.#rows) return this.#shown
    const before = this.#rows
    if (epoch !== this.#epoch) this.#prepared = new WeakMap()
    const narrower = epoch === this.#epoch && isNarrower(terms, this.#terms)
    this.#rows = rows
    this.#terms = terms
    this.#epoch = epoch
    if (terms.length === 0) {
      this.#shown = rows
      return rows
    }
    let changed = anew || rows.length !== before.length
    const matches: boolean[] = new Array(rows.length)
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      const same = row === before[i]
      const was = this.#matches[i] ?? false
      const is = same && (!anew || (narrower && !was)) ? was : matchesPrepared(this.prepare(row), terms)
      if (!same && (was || is)) changed = true
      matches[i] = is
    }
    this.#matches = matches
    if (changed) this.#shown = rows.filter((_, i) => matches[i])
    return this.#shown
  }

  /** Makes ready what a filter will look at, so that the first letter typed need not. */
  prepare(row: T): PreparedRecord {
    const known = this.#prepared.get(row)
    if (known) return known
    const made = prepareRecord(this.#recordOf(row, this.#epoch))
    this.#prepared.set(row, made)
    return made
  }
}
