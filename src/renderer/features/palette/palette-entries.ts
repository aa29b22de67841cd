import { Cable, Disc3, Monitor, Server, Settings, SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type IndexedEntry, indexedEntry, paletteIndex } from '../../lib/palette-rank.ts'
import { addressOf, go, type Route, SETTINGS_PARTS, type SettingsPart } from '../../routes.ts'
import { openDetails } from '../../state/details.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { setScope } from '../../state/scope.ts'
import { PLACES } from '../../ui/rail.tsx'
import { clearNotices } from '../notices/notice-store.ts'
import { openPublish } from '../ports/port-sheets.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { PART_TITLES, SETTINGS_ENTRIES } from '../settings/settings-entries.ts'
import { actsHere, type Sheets } from './object-acts.ts'
import { type Act, act, keysOf } from './palette-act.ts'

/** Everything that can be done and gone to, what concerns the object on the page first. */
export function actionEntries(route: Route, fleet: FleetSnapshot, sheets: Sheets, onKeys: () => void): Act[] {
  return [
    ...actsHere(route, fleet, sheets),
    act('Create VM', () => go({ page: 'create-vm', host: '' }), keysOf('create-vm')),
    act('Add a host over SSH', () => go({ page: 'add-host', taskId: '' })),
    act('Publish a port', () => openPublish(), keysOf('publish')),
    act('Add an image', () => go({ page: 'images' })),
    ...PLACES.map(({ label, key, route: to, icon }) => act(label, () => go(to), { ...keysOf(key), icon })),
    act('VMs that need a decision', () => go({ page: 'vms', filter: 'state:"needs a decision"' })),
    act('VMs in quarantine', () => go({ page: 'vms', filter: 'state:quarantine' })),
    act('Hosts that do not answer', () => go({ page: 'hosts', filter: 'state:unreachable' })),
    ...looks(),
    act('Show the whole fleet', () => setScope({ kind: 'all' })),
    act('Copy link to this page', () => void navigator.clipboard.writeText(addressOf(route, hostOf(route, fleet)))),
    act('Clear all notices', clearNotices),
    act('Keys', onKeys, keysOf('keys')),
  ]
}

const hostOf = (route: Route, fleet: FleetSnapshot) =>
  route.page === 'vm' ? (fleet.vms.get(route.id)?.hostId ?? '') : ''

function looks(): Act[] {
  const { density, contrast, rail } = usePreferences.getState()
  const high = contrast === 'high'
  return [
    act('Dark appearance', () => setPreference('theme', 'dark')),
    act('Light appearance', () => setPreference('theme', 'light')),
    act('Appearance as the system', () => setPreference('theme', 'system')),
    act(high ? 'Contrast as the system' : 'High contrast', () => setPreference('contrast', high ? 'system' : 'high')),
    act(density === 'compact' ? 'Comfortable rows' : 'Compact rows', () =>
      setPreference('density', density === 'compact' ? 'comfortable' : 'compact'),
    ),
    act(rail === 'narrow' ? 'Widen the rail' : 'Narrow the rail', () =>
      setPreference('rail', rail === 'narrow' ? 'open' : 'narrow'),
    ),
  ]
}

/** Each part of the settings, then each setting, also by the other words for it. */
const settings = (): Act[] => [
  ...SETTINGS_PARTS.map((part) => setting(part, part, PART_TITLES[part], '')),
  ...SETTINGS_ENTRIES.map(({ part, id, text, words }) => setting(part, `${part}/${id}`, text, words)),
]

const setting = (part: SettingsPart, id: string, text: string, words: string): Act => ({
  id: `:${id}`,
  kind: ':',
  text,
  words,
  hint: text === PART_TITLES[part] ? 'Settings' : PART_TITLES[part],
  icon: Settings,
  run: () => go({ page: 'settings', part }),
})

const byName = <T extends { name: string }>(a: T, b: T) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

interface KnownVm {
  name: string
  hostName: string
  unowned: boolean
  page: IndexedEntry<Act>
  console: IndexedEntry<Act>
}

const known = new Map<string, KnownVm>()

/** Lines of a VM, made again only when what they say changed: reports change VMs all the time, names hardly ever. */
function linesOf({ id, name, hostName, unowned }: Vm): KnownVm {
  const before = known.get(id)
  if (before?.name === name && before.hostName === hostName && before.unowned === unowned) return before
  const on = { kind: '@' as const, hint: hostName }
  const made = {
    name,
    hostName,
    unowned,
    page: indexedEntry<Act>({
      ...{ ...on, id: `@${id}`, text: name, icon: Monitor },
      run: () => go({ page: 'vm', id, tab: 'overview' }),
    }),
    console: indexedEntry<Act>({
      ...{ ...on, id: `@${id}/console`, text: `${name} console`, icon: SquareTerminal },
      run: () => go({ page: 'vm', id, tab: 'console' }),
    }),
  }
  known.set(id, made)
  return made
}

function vmEntries(fleet: FleetSnapshot): IndexedEntry<Act>[] {
  for (const id of known.keys()) if (!fleet.vms.has(id)) known.delete(id)
  const lines: KnownVm[] = []
  for (const vm of fleet.vms.values()) if (!vm.deletedAt) lines.push(linesOf(vm))
  lines.sort(byName)
  return [...lines.map(({ page }) => page), ...lines.filter(({ unowned }) => !unowned).map((l) => l.console)]
}

/** Every object by its name: VMs, their consoles, hosts, images, published ports, then settings. */
export const objectEntries = (fleet: FleetSnapshot): IndexedEntry<Act>[] => [
  ...vmEntries(fleet),
  ...paletteIndex(otherObjects(fleet)),
]

const otherObjects = (fleet: FleetSnapshot): Act[] => [
  ...[...fleet.hosts.values()].sort(byName).map(
    ({ id, name, address }): Act => ({
      ...{ id: `#${id}`, kind: '#', text: name, hint: address || 'this computer', icon: Server },
      run: () => go({ page: 'host', id, tab: 'overview' }),
    }),
  ),
  ...[...fleet.images.values()].sort(byName).map(
    ({ id, name, arch }): Act => ({
      ...{ id: `image ${id}`, kind: 'image', text: name, hint: `image, ${arch}`, icon: Disc3 },
      run: () => {
        go({ page: 'images' })
        openDetails({ kind: 'image', id })
      },
    }),
  ),
  ...[...fleet.ports.values()].map(
    (port): Act => ({
      ...{ id: `port ${port.id}`, kind: 'port', text: publishedAt(port), icon: Cable },
      hint: `${port.vmName}:${port.guestPort}`,
      run: () => go({ page: 'ports', filter: `vm:${port.vmName}` }),
    }),
  ),
  ...settings(),
]
