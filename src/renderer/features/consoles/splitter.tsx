import { useRef } from 'react'
import { cx } from '../../lib/class-names.ts'
import { type Divider, SPLIT_LEAST } from './workspace-layout.ts'

const STEP = 0.02
const percent = (share: number) => `${share * 100}%`

/** Between two panes: dragged, or moved by the arrow keys; Home and End go to the ends, Enter to the middle. */
export function Splitter({ divider, onMove }: { divider: Divider; onMove: (at: number) => void }) {
  const { to, at, box } = divider
  const line = useRef<HTMLDivElement>(null)
  const upright = to === 'right'
  const drag = (event: React.PointerEvent) => {
    const area = line.current?.parentElement?.getBoundingClientRect()
    if (!area || event.buttons !== 1) return
    onMove(
      upright
        ? ((event.clientX - area.left) / area.width - box.x) / box.width
        : ((event.clientY - area.top) / area.height - box.y) / box.height,
    )
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    const [less, more] = upright ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
    const next = { [less!]: at - STEP, [more!]: at + STEP, Home: SPLIT_LEAST, End: 1 - SPLIT_LEAST, Enter: 0.5 }[
      event.key
    ]
    if (next === undefined) return
    event.preventDefault()
    onMove(next)
  }
  return (
    <div
      ref={line}
      role="separator"
      tabIndex={0}
      aria-label={upright ? 'Width of the panes beside' : 'Height of the panes above and below'}
      aria-orientation={upright ? 'vertical' : 'horizontal'}
      aria-valuemin={SPLIT_LEAST * 100}
      aria-valuemax={(1 - SPLIT_LEAST) * 100}
      aria-valuenow={Math.round(at * 100)}
      title="Drag, or move with the arrow keys"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onDoubleClick={() => onMove(0.5)}
      onKeyDown={onKeyDown}
      className={cx(
        'absolute z-10 touch-none after:absolute after:bg-line hover:after:bg-accent focus-visible:after:bg-accent',
        upright
          ? '-translate-x-1/2 w-2 cursor-col-resize after:inset-y-0 after:left-1/2 after:w-px'
          : '-translate-y-1/2 h-2 cursor-row-resize after:inset-x-0 after:top-1/2 after:h-px',
      )}
      style={
        upright
          ? { left: percent(box.x + box.width * at), top: percent(box.y), height: percent(box.height) }
          : { top: percent(box.y + box.height * at), left: percent(box.x), width: percent(box.width) }
      }
    />
  )
}
