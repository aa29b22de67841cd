import { describe, expect, it } from 'vitest'
import { RESERVED_PORTS } from '../../../../../src/ipc/units.ts'
import type { NewExposure } from '../../../../../src/main/control/store/exposures-store.ts'
import { openStores } from '../../../../../src/main/control/store/stores.ts'
import { aHost, anId, aStore, aVm, faultOf } from '../a-store.ts'

const SSH = { host: 'rack', user: 'root', identityFile: '', hostname: 'rack', useSudo: false }

const aPort = (vmId: string, change: Partial<NewExposure> = {}): NewExposure => ({
  id: anId(),
  vmId,
  guestPort: 443,
  hostPort: 8443,
  protocol: 'tcp',
  scope: 'lan',
  ...change,
})

function aFleet() {
  const stores = aStore()
  const host = stores.hosts.create(aHost())
  const vm = stores.vms.create(aVm(host.id, { name: 'web' }))
  const other = stores.vms.create(aVm(host.id, { name: 'db' }))
  const epoch = () => stores.hosts.get(host.id).epoch
  return { ...stores, host, vm, other, epoch }
}

describe('published ports in the store', () => {
  it('get tenant and host from their VM, tell the host, and are in the audit trail', () => {
    const { exposures, vm, host, epoch, audit, time } = aFleet()
    const before = epoch()
    const row = exposures.create(aPort(vm.id))
    expect(row).toMatchObject({ tenant: 'default', hostId: host.id, createdAt: new Date(time.now) })
    expect(epoch()).toBe(before + 1n)
    exposures.remove('default', row.id)
    expect(epoch()).toBe(before + 2n)
    expect(exposures.find(row.id)).toBeUndefined()
    const trail = audit.list({ vmId: vm.id, limit: 10 }).filter(({ action }) => action.startsWith('port.'))
    expect(trail.map(({ action }) => action).sort()).toEqual(['port.publish', 'port.unpublish'])
    expect(trail[0]?.detail).toEqual({ name: '8443/tcp', for_vm: 'web', guest_port: '443', scope: 'lan' })
  })

  it('a deleted VM and one that is not there publish nothing', () => {
    const { exposures, vms, vm } = aFleet()
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    expect(faultOf(() => exposures.create(aPort(vm.id))).code).toBe('vm/not-found')
    expect(faultOf(() => exposures.create(aPort(anId()))).code).toBe('vm/not-found')
  })

  it('leave the port alone by which their host is reached', () => {
    const { exposures, hosts, vms } = aStore()
    const host = hosts.create(aHost({ name: 'rack', ssh: { ...SSH, port: RESERVED_PORTS.first } }))
    const vm = vms.create(aVm(host.id))
    const { code, params } = faultOf(() => exposures.create(aPort(vm.id, { hostPort: RESERVED_PORTS.first })))
    expect([code, params['problem']]).toEqual(['input/invalid', 'rack itself is reached by SSH on it'])
    expect(exposures.create(aPort(vm.id, { hostPort: 0 })).hostPort).toBe(RESERVED_PORTS.first + 1)
    expect(exposures.create(aPort(vm.id, { hostPort: 0, protocol: 'udp' })).hostPort).toBe(RESERVED_PORTS.first)
    expect(exposures.create(aPort(vm.id, { hostPort: 22 })).hostPort).toBe(22)
  })

  it('the first taker has a port; the second is told whose it is, and one that is free', () => {
    const { exposures, vm, other, host, hosts, vms } = aFleet()
    exposures.create(aPort(vm.id))
    const { code, params } = faultOf(() => exposures.create(aPort(other.id)))
    expect([code, params]).toEqual([
      'port/taken',
      { host: host.name, vm: 'web', port: '8443', protocol: 'tcp', free: '8444' },
    ])
    exposures.create(aPort(other.id, { protocol: 'udp' }))
    const elsewhere = vms.create(aVm(hosts.create(aHost()).id))
    exposures.create(aPort(elsewhere.id))
  })

  it('two connections that take one port at once are judged by the store alone', () => {
    const { exposures, vm, other, file, time } = aFleet()
    const second = openStores(file, { now: () => time.now })
    try {
      exposures.create(aPort(vm.id))
      expect(faultOf(() => second.exposures.create(aPort(other.id))).code).toBe('port/taken')
    } finally {
      second.db.close()
    }
  })

  it('without a host port one of the reserved range is taken, the first that is free, until none is', () => {
    const { exposures, vm, db, host, time } = aFleet()
    const { first, last } = RESERVED_PORTS
    expect(exposures.create(aPort(vm.id, { hostPort: 0 })).hostPort).toBe(first)
    const second = exposures.create(aPort(vm.id, { hostPort: 0 }))
    expect(second.hostPort).toBe(first + 1)
    exposures.create(aPort(vm.id, { hostPort: 0 }))
    exposures.remove('default', second.id)
    expect(exposures.create(aPort(vm.id, { hostPort: 0 })).hostPort).toBe(first + 1)
    db.transaction(() => {
      for (let port = first + 3; port <= last; port++) exposures.create(aPort(vm.id, { hostPort: port }))
    })
    const { code, params } = faultOf(() => exposures.create(aPort(vm.id, { hostPort: 0 })))
    expect([code, params]).toEqual(['port/none-free', { host: host.name, range: `${first} to ${last}` }])
    expect(exposures.create(aPort(vm.id, { hostPort: 0, protocol: 'udp' })).hostPort).toBe(first)
    expect(time.now).toBeGreaterThan(0)
  })

  it('rows go when their VM is destroyed, and stay while it only is deleted', () => {
    const { exposures, vms, vm, host } = aFleet()
    const row = exposures.create(aPort(vm.id))
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    expect(exposures.listByVm(vm.id)).toEqual([row])
    vms.reap(host.id, [vm.id])
    expect(exposures.listByHost(host.id)).toEqual([])
  })

  it('are listed ascending by host port', () => {
    const { exposures, vm, other } = aFleet()
    for (const hostPort of [9000, 80, 8443]) exposures.create(aPort(vm.id, { hostPort }))
    exposures.create(aPort(other.id, { hostPort: 81 }))
    expect(exposures.listByVm(vm.id).map(({ hostPort }) => hostPort)).toEqual([80, 8443, 9000])
  })
})
