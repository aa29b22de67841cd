import {
  Activity,
  Cable,
  Clock,
  Disc3,
  LayoutDashboard,
  type LucideIcon,
  Monitor,
  Network,
  PanelLeftClose,
  PanelLeftOpen,
  Server,
  Settings,
  ShieldCheck,
  SquareTerminal,
} from 'lucide-react'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { Marks } from '../features/notices/marks.ts'
import { useMarks } from '../features/notices/notice-store.ts'
import { cx } from '../lib/class-names.ts'
import { hrefOf, type Route } from '../routes.ts'
import { setPreference, usePreferences } from '../state/preferences.ts'
import { useInScope, useScope, useScopedHosts, useScopedPorts } from '../state/scope.ts'
import { useFleet, useVmCount } from '../state/use-fleet.ts'
import { IconButton } from './button.tsx'
import { keyOf, keyText } from './key-table.ts'
import { EitriMark } from './mark.tsx'
import { useMedia } from './use-media.ts'

export type Area = keyof Marks | 'fleet' | 'consoles' | 'images' | 'networks' | 'ports' | 'activity' | 'settings'

export const AREA: Record<Route['page'], Area> = {
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

interface Place {
  area: Area
  icon: LucideIcon
  label: string
  /** Id of its key. */
  key: string
  route: Route
}

/** The places of the rail in their order. */
export const PLACES: readonly Place[] = [
  { area: 'fleet', icon: LayoutDashboard, label: 'Fleet', key: 'go-fleet', route: { page: 'fleet' } },
  { area: 'hosts', icon: Server, label: 'Hosts', key: 'go-hosts', route: { page: 'hosts', filter: '' } },
  { area: 'vms', icon: Monitor, label: 'VMs', key: 'go-vms', route: { page: 'vms', filter: '' } },
  { area: 'consoles', icon: SquareTerminal, label: 'Consoles', key: 'go-consoles', route: { page: 'consoles' } },
  { area: 'images', icon: Disc3, label: 'Images', key: 'go-images', route: { page: 'images' } },
  { area: 'networks', icon: Network, label: 'Networks', key: 'go-networks', route: { page: 'networks' } },
  { area: 'ports', icon: Cable, label: 'Published ports', key: 'go-ports', route: { page: 'ports', filter: '' } },
  { area: 'trust', icon: ShieldCheck, label: 'Trust', key: 'go-trust', route: { page: 'trust', tab: 'authorities' } },
  { area: 'clock', icon: Clock, label: 'Clock', key: 'go-clock', route: { page: 'clock', filter: '' } },
  { area: 'activity', icon: Activity, label: 'Activity', key: 'go-activity', route: { page: 'activity', filter: '' } },
  {
    area: 'settings',
    icon: Settings,
    label: 'Settings',
    key: 'go-settings',
    route: { page: 'settings', part: 'appearance' },
  },
]

const WIDE = '(min-width: 960px)'

const isAlive = (vm: Vm) => !vm.deletedAt

/** VMs of the scope; of the whole fleet they are counted by what changed alone. */
function useAliveVms(): number {
  const all = useVmCount(isAlive)
  const whole = useScope().kind === 'all'
  const inScope = useInScope()
  const scoped = useFleet((f) => {
    if (whole) return 0
    let n = 0
    for (const vm of f.vms.values()) if (isAlive(vm) && inScope(vm.hostId)) n++
    return n
  })
  return whole ? all : scoped
}

function useCounts(): Partial<Record<Area, number>> {
  const hosts = useScopedHosts().length
  const vms = useAliveVms()
  const ports = useScopedPorts().length
  const images = useFleet((f) => f.images.size)
  return { hosts, vms, ports, images }
}

/** The places of the app, each with how many stand there and whether something there needs a person. */
export function Rail({ area }: { area: Area }) {
  const rail = usePreferences((p) => p.rail)
  const roomy = useMedia(WIDE)
  const open = rail === 'auto' ? roomy : rail === 'open'
  const counts = useCounts()
  const marks = useMarks()
  return (
    <nav
      data-region="rail"
      aria-label="Main"
      className={cx(
        'flex shrink-0 flex-col gap-0.5 overflow-y-auto border-line border-r bg-bg p-2',
        open ? 'w-52' : 'w-14',
      )}
    >
      <a
        href={hrefOf({ page: 'fleet' })}
        aria-label="Eitri"
        className="mb-1.5 flex h-9 shrink-0 items-center gap-2.5 rounded-md px-1.5 font-semibold text-base tracking-tight"
      >
        <EitriMark size={26} />
        {open && <span>Eitri</span>}
      </a>
      {PLACES.map((place) => (
        <RailLink
          key={place.area}
          place={place}
          open={open}
          here={area === place.area}
          count={counts[place.area]}
          mark={marks[place.area as keyof Marks]}
        />
      ))}
      <IconButton
        label={open ? 'Narrow the rail' : 'Widen the rail'}
        onClick={() => setPreference('rail', open ? 'narrow' : 'open')}
        className="mt-auto ml-1"
      >
        {open ? <PanelLeftClose size={15} aria-hidden /> : <PanelLeftOpen size={15} aria-hidden />}
      </IconButton>
    </nav>
  )
}

interface RailLinkProps {
  place: Place
  open: boolean
  here: boolean
  count: number | undefined
  /** How many things there need a person. */
  mark: number | undefined
}

function RailLink({ place, open, here, count, mark = 0 }: RailLinkProps) {
  const own = usePreferences((p) => p.keys)
  const { icon: Icon, label } = place
  const needs = mark > 0 ? `, ${mark === 1 ? '1 needs' : `${mark} need`} you` : ''
  return (
    <a
      href={hrefOf(place.route)}
      title={`${label}${needs} (${keyText(keyOf(place.key, own))})`}
      aria-label={`${label}${count ? `, ${count}` : ''}${needs}`}
      {...(here ? { 'aria-current': 'page' as const } : {})}
      className={cx(
        'relative flex h-8 shrink-0 items-center gap-2.5 rounded-md px-2.5 transition-colors',
        here
          ? 'bg-panel font-medium text-ink shadow-[inset_0_0_0_1px_var(--line)]'
          : 'text-dim hover:bg-hover hover:text-ink',
      )}
    >
      <Icon size={16} aria-hidden strokeWidth={1.8} className={cx('shrink-0', here && 'text-accent')} />
      {open && <span className="min-w-0 truncate">{label}</span>}
      {open && !!count && <span className="ml-auto text-faint text-xs">{count}</span>}
      {mark > 0 && (
        <span
          className={cx(
            'font-semibold text-warn text-xs',
            open ? (count ? '' : 'ml-auto') : 'absolute top-0.5 right-1 leading-4',
          )}
        >
          {open ? `${mark}!` : '!'}
        </span>
      )}
    </a>
  )
}
