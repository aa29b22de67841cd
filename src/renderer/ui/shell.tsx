import { Activity, Cable, Clock, Command, Disc3, Monitor, Moon, Network, Server, Sun } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useClockHeadline } from '../features/clock/clock-headline.tsx'
import { FeedBanner } from '../features/tasks/feed-state.tsx'
import { TaskStrip } from '../features/tasks/task-strip.tsx'
import { cx } from '../lib/class-names.ts'
import { go, hrefOf, type Route } from '../routes.tsx'
import { setPreference, usePreferences } from '../state/preferences.ts'
import { useFleet } from '../state/use-fleet.ts'
import { IconButton } from './button.tsx'
import { KeySheet } from './key-sheet.tsx'
import { useKeyPrefix, useKeys } from './keys.ts'
import { EitriMark } from './mark.tsx'
import { Palette } from './palette.tsx'

const AREA: Record<Route['page'], string> = {
  fleet: 'fleet',
  hosts: 'hosts',
  'add-host': 'hosts',
  host: 'hosts',
  vms: 'vms',
  'create-vm': 'vms',
  vm: 'vms',
  images: 'images',
  networks: 'networks',
  clock: 'clock',
  ports: 'ports',
  activity: 'activity',
  consoles: 'consoles',
  trust: 'trust',
  settings: 'settings',
}

/** What is the same on every screen: rail, task strip, palette, keys. */
export function Shell({ route, children }: { route: Route; children: ReactNode }) {
  const [palette, setPalette] = useState(false)
  const [keys, setKeys] = useState(false)
  // Colour says that something is confirmed; while nothing is told there is none.
  const lost = useFleet((f) => f.feed.state === 'lost')
  useKeyPrefix('g')
  useKeys({
    'g h': () => go({ page: 'hosts', filter: '' }),
    'g v': () => go({ page: 'vms', filter: '' }),
    'g i': () => go({ page: 'images' }),
    'g n': () => go({ page: 'networks' }),
    'g k': () => go({ page: 'clock', filter: '' }),
    'g p': () => go({ page: 'ports', filter: '' }),
    'g a': () => go({ page: 'activity', filter: '' }),
    n: () => go({ page: 'create-vm', host: '' }),
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    '?': () => setKeys(true),
    'mod+k': () => setPalette(true),
    f6: () => moveRegion(1),
    'shift+f6': () => moveRegion(-1),
    escape: () => back(route),
  })
  return (
    <div className="flex h-full flex-col">
      <FeedBanner />
      <div className="flex min-h-0 flex-1">
        <Rail area={AREA[route.page]} onPalette={() => setPalette(true)} />
        <main data-region="main" tabIndex={-1} className={cx('min-w-0 flex-1 outline-none', lost && 'grayscale')}>
          {children}
        </main>
      </div>
      <TaskStrip />
      {palette && <Palette onClose={() => setPalette(false)} onKeys={() => setKeys(true)} />}
      {keys && <KeySheet onClose={() => setKeys(false)} />}
    </div>
  )
}

/** One layer back: out of a field first, and never out of a form that is being typed. */
function back(route: Route): void {
  if (document.querySelector('[role=dialog], [role=menu]')) return
  const at = document.activeElement
  if (at instanceof HTMLElement && at.matches('input, textarea, select')) at.blur()
  else if (route.page === 'vm') go({ page: 'vms', filter: '' })
  else if (route.page === 'host') go({ page: 'hosts', filter: '' })
}

/** The focus to the next part of the window: rail, page, task strip. */
function moveRegion(by: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')]
  const at = regions.findIndex((r) => r.contains(document.activeElement))
  const next = regions[(at + by + regions.length) % regions.length]
  const first = next?.querySelector<HTMLElement>('a, button, input, [tabindex="0"]')
  ;(first ?? next)?.focus()
}

function Rail({ area, onPalette }: { area: string; onPalette: () => void }) {
  const hosts = useFleet((f) => f.hosts.size)
  const vms = useFleet((f) => [...f.vms.values()].filter((vm) => !vm.deletedAt).length)
  const images = useFleet((f) => f.images.size)
  const clock = useClockHeadline()
  const ports = useFleet((f) => f.ports.size)
  return (
    <nav
      data-region="rail"
      aria-label="Main"
      className="flex w-14 shrink-0 flex-col gap-0.5 border-line border-r bg-bg p-2 md:w-48"
    >
      <a
        href={hrefOf({ page: 'fleet' })}
        aria-label="Eitri"
        className="mb-2 flex h-9 items-center gap-2.5 rounded-md px-1.5 font-semibold text-base tracking-tight"
      >
        <EitriMark size={26} />
        <span className="hidden md:inline">Eitri</span>
      </a>
      <RailLink
        icon={Server}
        label="Hosts"
        count={hosts}
        keys="g h"
        here={area === 'hosts'}
        href={hrefOf({ page: 'hosts', filter: '' })}
      />
      <RailLink
        icon={Monitor}
        label="VMs"
        count={vms}
        keys="g v"
        here={area === 'vms'}
        href={hrefOf({ page: 'vms', filter: '' })}
      />
      <RailLink
        icon={Disc3}
        label="Images"
        count={images}
        keys="g i"
        here={area === 'images'}
        href={hrefOf({ page: 'images' })}
      />
      <RailLink
        icon={Network}
        label="Networks"
        keys="g n"
        here={area === 'networks'}
        href={hrefOf({ page: 'networks' })}
      />
      <RailLink
        icon={Cable}
        label="Published ports"
        count={ports}
        keys="g p"
        here={area === 'ports'}
        href={hrefOf({ page: 'ports', filter: '' })}
      />
      <RailLink
        icon={Clock}
        label="Clock"
        mark={clock.tone === 'bad' || clock.tone === 'warn'}
        keys="g k"
        here={area === 'clock'}
        href={hrefOf({ page: 'clock', filter: '' })}
      />
      <RailLink
        icon={Activity}
        label="Activity"
        keys="g a"
        here={area === 'activity'}
        href={hrefOf({ page: 'activity', filter: '' })}
      />
      <div className="mt-auto flex flex-col gap-1">
        <button
          type="button"
          onClick={onPalette}
          aria-label="Search and act"
          className="flex h-8 items-center gap-2 rounded-md px-2 text-dim hover:bg-hover hover:text-ink md:border md:border-line md:bg-panel"
        >
          <Command size={14} aria-hidden />
          <span className="hidden md:inline">Search</span>
          <kbd className="ml-auto hidden whitespace-nowrap font-sans text-faint text-xs md:inline">Ctrl K</kbd>
        </button>
        <ThemeButton />
      </div>
    </nav>
  )
}

interface RailLinkProps {
  icon: typeof Server
  label: string
  count?: number
  /** Something there needs a person; said in words elsewhere. */
  mark?: boolean
  keys: string
  here: boolean
  href: string
}

function RailLink({ icon: Icon, label, count, mark, keys, here, href }: RailLinkProps) {
  return (
    <a
      href={href}
      title={`${label} (${keys})`}
      {...(here ? { 'aria-current': 'page' as const } : {})}
      className={cx(
        'flex h-8 items-center gap-2.5 rounded-md px-2.5 transition-colors',
        here
          ? 'bg-panel font-medium text-ink shadow-[inset_0_0_0_1px_var(--line)]'
          : 'text-dim hover:bg-hover hover:text-ink',
      )}
    >
      <Icon size={16} aria-hidden strokeWidth={1.8} className={cx('shrink-0', here && 'text-accent')} />
      <span className="sr-only md:not-sr-only">{label}</span>
      {count !== undefined && count > 0 && <span className="ml-auto hidden text-faint text-xs md:inline">{count}</span>}
      {mark && (
        <span aria-hidden className="ml-auto font-semibold text-warn">
          !
        </span>
      )}
    </a>
  )
}

function ThemeButton() {
  const theme = usePreferences((p) => p.theme)
  const next = { system: 'light', light: 'dark', dark: 'system' } as const
  const words = { system: 'Follows the system', light: 'Light', dark: 'Dark' }
  return (
    <IconButton
      label={`Appearance: ${words[theme]}. Change to ${words[next[theme]].toLowerCase()}`}
      onClick={() => setPreference('theme', next[theme])}
      className="md:w-full md:justify-start md:gap-2 md:px-2"
    >
      {theme === 'dark' ? <Moon size={14} aria-hidden /> : <Sun size={14} aria-hidden />}
      <span className="hidden text-xs md:inline">{words[theme]}</span>
    </IconButton>
  )
}
