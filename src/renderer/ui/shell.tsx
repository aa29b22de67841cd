import { type ReactNode, useEffect, useState } from 'react'
import { DetailsDrawer } from '../features/details/details-drawer.tsx'
import { objectEntries } from '../features/palette/palette-entries.ts'
import { CheckingBanner } from '../features/tasks/checking-banner.tsx'
import { FeedBanner } from '../features/tasks/feed-state.tsx'
import { TaskStrip } from '../features/tasks/task-strip.tsx'
import { cx } from '../lib/class-names.ts'
import { go, type Route } from '../routes.ts'
import { useDetails } from '../state/details.ts'
import { fleetStore } from '../state/fleet-store.ts'
import { listBefore } from '../state/place.ts'
import { useFleet } from '../state/use-fleet.ts'
import { leave, useDetailsKeys } from './drawer.tsx'
import { KeySheet } from './key-sheet.tsx'
import { keyOf } from './key-table.ts'
import { useKeyPrefix, useKeys } from './keys.ts'
import { PageBoundary } from './page-boundary.tsx'
import { usePageTitle } from './page-title.ts'
import { Palette } from './palette.tsx'
import { AREA, PLACES, Rail } from './rail.tsx'
import { TopBar } from './top-bar.tsx'
import { pageKey, usePageFocus } from './use-page-focus.ts'

const GOES_BY_KEY = Object.fromEntries(PLACES.map(({ key, route }) => [keyOf(key, {}), () => go(route)]))

/** What is the same on every screen: rail, top bar, details, task strip, palette, keys. */
export function Shell({ route, children }: { route: Route; children: ReactNode }) {
  const [palette, setPalette] = useState(false)
  const [keys, setKeys] = useState(false)
  // Colour says that something is confirmed; while nothing is told there is none.
  const lost = useFleet((f) => f.feed.state === 'lost')
  const title = usePageTitle(route)
  useEffect(() => {
    document.title = title
  }, [title])
  usePageFocus(route)
  const told = useFleet((f) => f.revision !== undefined)
  useEffect(() => {
    if (!told) return
    // So that the first opening of the palette finds its ten thousand lines made.
    const idle = requestIdleCallback(() => objectEntries(fleetStore.getState()))
    return () => cancelIdleCallback(idle)
  }, [told])
  useKeyPrefix('g')
  useDetailsKeys()
  useKeys({
    ...GOES_BY_KEY,
    'mod+shift+a': () => go({ page: 'activity', filter: '' }),
    n: () => go({ page: 'create-vm', host: '' }),
    '/': () => {
      const box = document.querySelector<HTMLElement>('[data-filter]')
      if (box) box.focus()
      else setPalette(true)
    },
    '?': () => setKeys(true),
    'mod+k': () => setPalette(true),
    f6: () => moveRegion(1),
    'shift+f6': () => moveRegion(-1),
    escape: () => back(route),
  })
  return (
    <div className="flex h-full flex-col">
      <FeedBanner />
      <CheckingBanner />
      <div className="flex min-h-0 flex-1">
        <Rail area={AREA[route.page]} />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar onPalette={() => setPalette(true)} />
          <div className="relative flex min-h-0 flex-1">
            <main data-region="main" tabIndex={-1} className={cx('min-w-0 flex-1 outline-none', lost && 'grayscale')}>
              <PageBoundary page={pageKey(route)}>{children}</PageBoundary>
            </main>
            <PageBoundary page={pageKey(route)}>
              <DetailsDrawer />
            </PageBoundary>
          </div>
        </div>
      </div>
      <TaskStrip />
      {palette && <Palette onClose={() => setPalette(false)} onKeys={() => setKeys(true)} />}
      {keys && <KeySheet onClose={() => setKeys(false)} />}
    </div>
  )
}

/** One layer back: out of a field first, then the details, and never out of a form that is being typed. */
function back(route: Route): void {
  if (document.querySelector('[role=dialog], [role=menu]')) return
  const at = document.activeElement
  if (at instanceof HTMLElement && at.matches('input, textarea, select')) at.blur()
  else if (useDetails.getState().open) leave()
  else if (route.page === 'vm') go(listBefore('vms'))
  else if (route.page === 'host') go(listBefore('hosts'))
}

/** The focus to the next part of the window: rail, top bar, page, details, task strip. */
function moveRegion(by: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')]
  const at = regions.findIndex((r) => r.contains(document.activeElement))
  const next = regions[(at + by + regions.length) % regions.length]
  const first = next?.querySelector<HTMLElement>('[data-row][tabindex="0"], a, button, input, [tabindex="0"]')
  ;(first ?? next)?.focus()
}
