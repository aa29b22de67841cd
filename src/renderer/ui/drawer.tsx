import { X } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { hrefOf, type Route } from '../routes.ts'
import { closeDetails, detailsOf, openDetails, toggleDetails, useDetails } from '../state/details.ts'
import { fleetStore } from '../state/fleet-store.ts'
import { DRAWER_WIDTH } from '../state/preference-shape.ts'
import { setPreference, usePreferences } from '../state/preferences.ts'
import { buttonClass, IconButton } from './button.tsx'

const STEP = 24
const within = (width: number) => Math.max(DRAWER_WIDTH.least, Math.min(DRAWER_WIDTH.most, Math.round(width)))

/** What an element of the page is about: the row it is in, or what it says itself. */
function subjectOf(target: EventTarget | null) {
  if (!(target instanceof HTMLElement)) return undefined
  const said = target.closest<HTMLElement>('[data-details]')?.dataset['details']
  return detailsOf(said, target.dataset['row'], fleetStore.getState())
}

/** Space on a row opens and closes its details; while they are open they follow the row that has the focus. Mounted once. */
export function useDetailsKeys(): void {
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (event.key !== ' ' || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (!(event.target instanceof HTMLElement) || event.target.dataset['row'] === undefined) return
      const subject = subjectOf(event.target)
      if (!subject) return
      event.preventDefault()
      toggleDetails(subject)
    }
    const onFocus = (event: FocusEvent) => {
      const { open } = useDetails.getState()
      const subject = open && subjectOf(event.target)
      if (subject && subject.id !== open.id) openDetails(subject)
    }
    addEventListener('keydown', onKeyDown)
    addEventListener('focusin', onFocus)
    return () => {
      removeEventListener('keydown', onKeyDown)
      removeEventListener('focusin', onFocus)
    }
  }, [])
}

interface DrawerProps {
  title: string
  /** Where the whole of it stands. */
  route: Route | undefined
  actions?: ReactNode
  children: ReactNode
}

/** Closes the details; the focus goes back to the row it came from when it was in them. */
export function leave(): void {
  const inside = document.activeElement?.closest('[data-region=details]') != null
  closeDetails()
  if (inside) document.querySelector<HTMLElement>('main [data-row][tabindex="0"]')?.focus()
}

/** Details beside the page. It takes no focus: what was focused stays so, and F6 leads into it. */
export function Drawer({ title, route, actions, children }: DrawerProps) {
  const width = usePreferences((p) => p.drawerWidth)
  return (
    <aside
      data-region="details"
      aria-label={`Details of ${title}`}
      style={{ width: `min(${width}px, 80vw)` }}
      className="relative flex shrink-0 flex-col border-line border-l bg-panel max-md:absolute max-md:inset-y-0 max-md:right-0 max-md:z-30 max-md:shadow-pop"
    >
      <Resizer width={width} />
      <header className="flex min-h-13 items-center gap-2 border-line border-b py-2 pr-2 pl-4">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-base">{title}</h2>
        {actions}
        {route && (
          <a href={hrefOf(route)} className={buttonClass('plain', 'small')}>
            Open
          </a>
        )}
        <IconButton label="Close the details (Esc)" onClick={leave}>
          <X size={15} aria-hidden />
        </IconButton>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and may hold no control has to be reached by keys */}
      <section tabIndex={0} aria-label={title} className="min-h-0 flex-1 overflow-y-auto p-4">
        {children}
      </section>
    </aside>
  )
}

/** Dragged, or moved with the arrow keys. */
function Resizer({ width }: { width: number }) {
  const from = useRef<{ x: number; width: number } | undefined>(undefined)
  const [dragging, setDragging] = useState(false)
  const set = (next: number) => setPreference('drawerWidth', within(next))
  const onKeyDown = (event: KeyboardEvent) => {
    const to = {
      ArrowLeft: width + STEP,
      ArrowRight: width - STEP,
      Home: DRAWER_WIDTH.most,
      End: DRAWER_WIDTH.least,
    }[event.key]
    if (to === undefined) return
    event.preventDefault()
    set(to)
  }
  const onPointerDown = (event: PointerEvent) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    from.current = { x: event.clientX, width }
    setDragging(true)
  }
  const onPointerMove = (event: PointerEvent) =>
    from.current && set(from.current.width + from.current.x - event.clientX)
  const stop = () => {
    from.current = undefined
    setDragging(false)
  }
  return (
    <div
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Width of the details"
      aria-valuemin={DRAWER_WIDTH.least}
      aria-valuemax={DRAWER_WIDTH.most}
      aria-valuenow={width}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={stop}
      onPointerCancel={stop}
      className={`-left-1 absolute inset-y-0 z-10 w-2 cursor-col-resize hover:bg-accent/30 focus-visible:bg-accent/40 ${dragging ? 'bg-accent/40' : ''}`}
    />
  )
}
