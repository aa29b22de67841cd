import { useSyncExternalStore } from 'react'

/** Parts of an object in the order of Alt+1…9. */
export const VM_TABS = [
  'overview',
  'console',
  'cloud-init',
  'disks',
  'ports',
  'trust',
  'clock',
  'activity',
  'raw',
] as const
export type VmTab = (typeof VM_TABS)[number]
export const HOST_TABS = ['overview', 'vms', 'storage', 'networks', 'ssh', 'agent', 'activity'] as const
export type HostTab = (typeof HOST_TABS)[number]
export const TRUST_TABS = ['authorities', 'certificates', 'revoked', 'guests', 'hosts'] as const
export type TrustTab = (typeof TRUST_TABS)[number]
export const SETTINGS_PARTS = [
  'appearance',
  'keys',
  'terminal',
  'notifications',
  'quarantine',
  'ssh',
  'data',
  'support',
] as const
export type SettingsPart = (typeof SETTINGS_PARTS)[number]

/** Every place in the app. The address is its only home, so links, reload and the palette agree. */
export type Route =
  | { page: 'fleet' }
  | { page: 'hosts'; filter: string }
  | { page: 'add-host'; taskId: string }
  | { page: 'host'; id: string; tab: HostTab }
  | { page: 'vms'; filter: string }
  | { page: 'create-vm'; host: string }
  | { page: 'vm'; id: string; tab: VmTab }
  | { page: 'images'; filter?: string }
  | { page: 'networks'; filter?: string }
  | { page: 'clock'; filter: string }
  | { page: 'ports'; filter: string }
  /** Absent = what was done; else the tasks, running and past. */
  | { page: 'activity'; filter: string; view?: 'tasks' }
  | { page: 'consoles' }
  | { page: 'trust'; tab: TrustTab; filter?: string }
  | { page: 'settings'; part: SettingsPart }

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const [noun, id = '', more = ''] = path.split('/').filter(Boolean).map(decoded)
  const params = new URLSearchParams(query)
  const filter = params.get('filter') ?? ''
  const filtered = filter === '' ? {} : { filter }
  switch (noun) {
    case 'hosts':
      if (id === 'add') return { page: 'add-host', taskId: more }
      return id === ''
        ? { page: 'hosts', filter }
        : { page: 'host', id, tab: HOST_TABS.find((tab) => tab === more) ?? 'overview' }
    case 'vms':
      if (id === 'new') return { page: 'create-vm', host: params.get('host') ?? '' }
      return id === ''
        ? { page: 'vms', filter }
        : { page: 'vm', id, tab: VM_TABS.find((tab) => tab === more) ?? 'overview' }
    case 'images':
      return { page: 'images', ...filtered }
    case 'networks':
      return { page: 'networks', ...filtered }
    case 'clock':
      return { page: 'clock', filter }
    case 'ports':
      return { page: 'ports', filter }
    case 'activity':
      return { page: 'activity', filter }
    case 'tasks':
      return { page: 'activity', filter, view: 'tasks' }
    case 'consoles':
      return { page: 'consoles' }
    case 'trust':
      return { page: 'trust', tab: TRUST_TABS.find((tab) => tab === id) ?? 'authorities', ...filtered }
    case 'settings':
      return { page: 'settings', part: SETTINGS_PARTS.find((part) => part === id) ?? 'appearance' }
    default:
      return { page: 'fleet' }
  }
}

const withQuery = (path: string, query: Record<string, string>) => {
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== '')).toString()
  return text === '' ? path : `${path}?${text}`
}

export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'fleet':
      return '#/'
    case 'hosts':
      return withQuery('#/hosts', { filter: route.filter })
    case 'add-host':
      return route.taskId === '' ? '#/hosts/add' : `#/hosts/add/${route.taskId}`
    case 'host':
      return route.tab === 'overview' ? `#/hosts/${route.id}` : `#/hosts/${route.id}/${route.tab}`
    case 'vms':
      return withQuery('#/vms', { filter: route.filter })
    case 'create-vm':
      return withQuery('#/vms/new', { host: route.host })
    case 'vm':
      return route.tab === 'overview' ? `#/vms/${route.id}` : `#/vms/${route.id}/${route.tab}`
    case 'images':
      return withQuery('#/images', { filter: route.filter ?? '' })
    case 'networks':
      return withQuery('#/networks', { filter: route.filter ?? '' })
    case 'clock':
      return withQuery('#/clock', { filter: route.filter })
    case 'ports':
      return withQuery('#/ports', { filter: route.filter })
    case 'activity':
      return withQuery(route.view === 'tasks' ? '#/tasks' : '#/activity', { filter: route.filter })
    case 'consoles':
      return '#/consoles'
    case 'trust':
      return withQuery(route.tab === 'authorities' ? '#/trust' : `#/trust/${route.tab}`, { filter: route.filter ?? '' })
    case 'settings':
      return route.part === 'appearance' ? '#/settings' : `#/settings/${route.part}`
  }
}

const SCHEME = 'eitri://'

/** The address of a place outside the window: `eitri://host/<id>/vm/<id>/console`, with the host of a VM where it is known. */
export function addressOf(route: Route, hostId = ''): string {
  const path = hrefOf(route).slice('#/'.length)
  if (route.page === 'fleet') return `${SCHEME}fleet`
  const on = route.page === 'vm' && hostId !== '' ? `host/${hostId}/` : ''
  const object = route.page === 'vm' || route.page === 'host' ? path.replace(/^(vm|host)s\//, '$1/') : path
  return `${SCHEME}${on}${object}`
}

/** The place an address means; undefined when it is none of ours. */
export function routeOfAddress(address: string): Route | undefined {
  if (!address.toLowerCase().startsWith(SCHEME)) return undefined
  const path = address
    .slice(SCHEME.length)
    .replace(/^host\/[^/]+\/vm\//, 'vm/')
    .replace(/^(vm|host)\//, '$1s/')
  return parseRoute(`#/${path}`)
}

export const go = (route: Route): void => {
  location.hash = hrefOf(route)
}

/** Same place, other detail (a filter being typed): no entry in the history. */
export function replaceRoute(route: Route): void {
  history.replaceState(null, '', hrefOf(route))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

let parsed: { hash: string; route: Route } | undefined
function current(): Route {
  if (parsed?.hash !== location.hash) parsed = { hash: location.hash, route: parseRoute(location.hash) }
  return parsed.route
}

export const useRoute = (): Route => useSyncExternalStore(subscribe, current)
