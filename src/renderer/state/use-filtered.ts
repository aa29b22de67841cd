import { useCallback, useMemo, useState } from 'react'
import { parseFilter } from '../lib/filter.ts'
import { type RecordOf, RowFilter } from '../lib/row-filter.ts'
import { useWhenIdle } from './use-when-idle.ts'

export interface FilterOf<T> {
  filter: string
  fields: readonly string[]
  /** One function for the life of the list. */
  record: RecordOf<T>
  /** A coarse time, where words change by it. */
  epoch?: number
}

/** Lists up to this long are made ready when they are filtered. */
const AT_ONCE = 200

/** Rows that match what is typed; a change of one row looks at that row only. */
export function useFilteredRows<T extends object>(rows: readonly T[], of: FilterOf<T>): readonly T[] {
  const { filter, fields, record, epoch = 0 } = of
  const [kept] = useState(() => new RowFilter(record))
  const terms = useMemo(() => parseFilter(filter, fields), [filter, fields])
  useReadiness(rows, kept)
  return kept.update(rows, terms, epoch)
}

/** What a filter looks at is made ready while nothing else is to be done, so that the first letter finds it there. */
function useReadiness<T extends object>(rows: readonly T[], kept: RowFilter<T>): void {
  const prepare = useCallback((row: T) => void kept.prepare(row), [kept])
  useWhenIdle(rows, AT_ONCE, prepare)
}
