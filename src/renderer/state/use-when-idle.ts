import { useEffect, useRef } from 'react'

/** Looks at each of more than `few` rows while nothing else is to be done; later only at those that changed. */
export function useWhenIdle<T>(rows: readonly T[], few: number, look: (row: T) => void): void {
  const seen = useRef<{ rows: readonly T[]; look?: (row: T) => void }>({ rows: [] })
  useEffect(() => {
    if (rows.length <= few) return
    const before = seen.current.look === look ? seen.current.rows : []
    let next = 0
    const go = (deadline: IdleDeadline) => {
      while (next < rows.length && deadline.timeRemaining() > 1) {
        const row = rows[next] as T
        if (row !== before[next]) look(row)
        next++
      }
      if (next < rows.length) asked = requestIdleCallback(go)
      else seen.current = { rows, look }
    }
    let asked = requestIdleCallback(go)
    return () => cancelIdleCallback(asked)
  }, [rows, few, look])
}
