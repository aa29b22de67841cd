import { useSyncExternalStore } from 'react'

export const VM_TABS = ['overview', 'console', 'cloud-init', 'ports', 'clock'] as const
export type VmTab = (typeof VM_TABS)[number]

/** Every place in the app. The address is its only home, so links, reload and the palette agree. */
export type Route =
  | { page: 'home' }
  | { page: 'hosts'; filter: string }
  | { page: 'add-host'; taskId: string }
  | { page: 'host'; id: string }
  | { page: 'vms'; filter: string }
  | { page: 'create-vm'; host: string }
  | { page: 'vm'; id: string; tab: VmTab }
  | { page: 'images' }
  | { page: 'networks' }
  | { page: 'clock'; filter: string }
  | { page: 'ports'; filter: string }
  | { page: 'activity' }

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
  switch (noun) {
    case 'hosts':
      if (id === 'add') return { page: 'add-host', taskId: more }
      return id === '' ? { page: 'hosts', filter } : { page: 'host', id }
    case 'vms':
      if (id === 'new') return { page: 'create-vm', host: params.get('host') ?? '' }
      return id === ''
        ? { page: 'vms', filter }
        : { page: 'vm', id, tab: VM_TABS.find((tab) => tab === more) ?? 'overview' }
    case 'images':
      return { page: 'images' }
    case 'networks':
      return { page: 'networks' }
    case 'clock':
      return { page: 'clock', filter }
    case 'ports':
      return { page: 'ports', filter }
    case 'activity':
    case 'tasks':
      return { page: 'activity' }
    default:
      return { page: 'home' }
  }
}

const withQuery = (path: string, query: Record<string, string>) => {
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== '')).toString()
  return text === '' ? path : `${path}?${text}`
}

export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'home':
      return '#/'
    case 'hosts':
      return withQuery('#/hosts', { filter: route.filter })
    case 'add-host':
      return route.taskId === '' ? '#/hosts/add' : `#/hosts/add/${route.taskId}`
    case 'host':
      return `#/hosts/${route.id}`
    case 'vms':
      return withQuery('#/vms', { filter: route.filter })
    case 'create-vm':
      return withQuery('#/vms/new', { host: route.host })
    case 'vm':
      return route.tab === 'overview' ? `#/vms/${route.id}` : `#/vms/${route.id}/${route.tab}`
    case 'images':
      return '#/images'
    case 'networks':
      return '#/networks'
    case 'clock':
      return withQuery('#/clock', { filter: route.filter })
    case 'ports':
      return withQuery('#/ports', { filter: route.filter })
    case 'activity':
      return '#/activity'
  }
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
