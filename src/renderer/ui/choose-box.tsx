import { useEffect, useRef } from 'react'
import type { Chosen } from '../lib/row-selection.ts'

/** The checkbox of a row, or of all of them. */
export function ChooseBox({
  label,
  chosen,
  onChoose,
  isInRow,
}: {
  label: string
  chosen: Chosen
  /** `range`: Shift was held. */
  onChoose: (range: boolean) => void
  /** The row itself is the tab stop. */
  isInRow?: boolean
}) {
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current) box.current.indeterminate = chosen === 'some'
  }, [chosen])
  return (
    <label className="-ml-1 flex size-6 items-center justify-center">
      <input
        ref={box}
        type="checkbox"
        {...(isInRow ? { tabIndex: -1 } : {})}
        aria-label={label}
        checked={chosen === 'yes'}
        onChange={(event) => onChoose(event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)}
        className="size-4 accent-accent"
      />
    </label>
  )
}
