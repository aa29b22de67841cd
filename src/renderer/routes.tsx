import { useSyncExternalStore } from 'react'

export type VmTab = 'overview' | 'console'

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
      return id === '' ? { page: 'vms', filter } : { page: 'vm', id, tab: more === 'console' ? 'console' : 'overview' }
    case 'images':
      return { page: 'images' }
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
      return route.tab === 'console' ? `#/vms/${route.id}/console` : `#/vms/${route.id}`
    case 'images':
      return '#/images'
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
