import type { ReactNode } from 'react'
import type { SelectionCount } from '../lib/row-selection.ts'
import { Button } from './button.tsx'

/** What is chosen, how to choose the rest, and what can be done with it. It stands under the rows, so that none moves. */
export function SelectionBar({
  count: { chosen, hidden, left },
  onAll,
  onClear,
  children,
}: {
  count: SelectionCount
  onAll: () => void
  onClear: () => void
  children?: ReactNode
}) {
  return (
    <section
      aria-label="Selected rows"
      className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-line border-t bg-panel px-5 py-1.5"
    >
      <span role="status" className="font-medium">
        {chosen} selected
        {hidden > 0 && <span className="font-normal text-dim">, and {hidden} hidden by the filter</span>}
      </span>
      {left > 0 && (
        <Button size="small" look="quiet" onClick={onAll}>
          Select all {chosen + left} matching
        </Button>
      )}
      <Button size="small" look="quiet" title="Clear the selection (Esc)" onClick={onClear}>
        Clear
      </Button>
      <span className="ml-auto flex flex-wrap items-center gap-2">{children}</span>
    </section>
  )
}
