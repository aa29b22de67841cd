import { describe, expect, it } from 'vitest'
import { addressOf, hrefOf, parseRoute, type Route, routeOfAddress } from '../../../src/renderer/routes.ts'

const ROUTES: Route[] = [
  { page: 'fleet' },
  { page: 'hosts', filter: '' },
  { page: 'hosts', filter: 'state:key changed' },
  { page: 'add-host', taskId: '' },
  { page: 'add-host', taskId: 'ab12' },
  { page: 'host', id: 'ab12', tab: 'overview' },
  { page: 'vms', filter: 'host:rack2 -web' },
  { page: 'create-vm', host: 'ab12' },
  { page: 'create-vm', host: '' },
  { page: 'vm', id: 'ab12', tab: 'overview' },
  { page: 'vm', id: 'ab12', tab: 'console' },
  { page: 'vm', id: 'ab12', tab: 'cloud-init' },
  { page: 'vm', id: 'ab12', tab: 'clock' },
  { page: 'images' },
  { page: 'networks' },
  { page: 'images', filter: 'debian arch:aarch64' },
  { page: 'networks', filter: 'state:down' },
  { page: 'trust', tab: 'guests', filter: 'host:rack -agrees:yes' },
  { page: 'clock', filter: 'state:jumped' },
  { page: 'activity', filter: '' },
  { page: 'activity', filter: 'vm:web', view: 'tasks' },
]

describe('the address', () => {
  it.each(ROUTES)('holds %o whole', (route) => expect(parseRoute(hrefOf(route))).toEqual(route))

  it.each(['', '#', '#/', '#/nothing-here', '#t=abc'])('%s is home', (hash) => {
    expect(parseRoute(hash)).toEqual({ page: 'fleet' })
  })

  it('survives a part that is no valid escape', () => {
    expect(parseRoute('#/vms/%E0%A4%A')).toEqual({ page: 'vm', id: '%E0%A4%A', tab: 'overview' })
  })
})

describe('an address outside the window', () => {
  it.each(ROUTES)('leads back to %o', (route) => expect(routeOfAddress(addressOf(route))).toEqual(route))

  it('names the host of a VM where it is known, and means the same VM', () => {
    const address = addressOf({ page: 'vm', id: 'v1', tab: 'console' }, 'h1')
    expect(address).toBe('eitri://host/h1/vm/v1/console')
    expect(routeOfAddress(address)).toEqual({ page: 'vm', id: 'v1', tab: 'console' })
  })

  it('of another scheme is none of ours', () => {
    expect(routeOfAddress('https://example.test/vm/v1')).toBeUndefined()
    expect(routeOfAddress('eitri:vm/v1')).toBeUndefined()
  })
})
