import { describe, expect, it } from 'vitest'
import { aHost, anId, aStore, aVm, faultOf } from '../a-store.ts'

const NONE = { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null }
const WEEK_S = 7 * 24 * 3600

function aTenant(limits: Partial<typeof NONE> | Record<string, number> = {}) {
  const stores = aStore()
  stores.tenants.create('team', { ...NONE, ...limits })
  const host = stores.hosts.create(aHost({ tenant: 'team' }))
  const add = (change = {}) => stores.vms.create(aVm(host.id, change))
  const remove = (id: string) => stores.vms.edit(id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
  return { ...stores, host, add, remove }
}
const refused = (quota: string, used: number, wanted: number, most: number) => ({
  code: 'tenant/over-quota',
  params: { tenant: 'team', quota, used: String(used), wanted: String(wanted), most: String(most) },
})

describe('tenants', () => {
  it("the app's own is listed to nobody, cannot be had again, and a name is taken once", () => {
    const { tenants } = aStore()
    expect(tenants.list().map((row) => row.name)).toEqual(['default'])
    for (const name of ['system', 'default'])
      expect(faultOf(() => tenants.create(name, NONE)).code).toBe('tenant/name-taken')
    for (const name of ['system', 'none']) expect(faultOf(() => tenants.update(name, {})).code).toBe('tenant/not-found')
  })

  it('are bounded in number', () => {
    const { tenants } = aStore()
    for (let n = 1; n < 256; n++) tenants.create(`t${n}`, NONE)
    expect(faultOf(() => tenants.create('more', NONE)).code).toBe('input/too-large')
  })

  it('deleted VMs can be brought back for seven days, or for as long as their tenant says', () => {
    const { tenants } = aStore()
    expect(tenants.graceS('default')).toBe(WEEK_S)
    tenants.update('default', { graceS: 3600 })
    expect(tenants.graceS('default')).toBe(3600)
    tenants.update('default', { graceS: null })
    expect(tenants.graceS('default')).toBe(WEEK_S)
  })

  it('a name is free in every tenant, once live in each, and free again after a delete', () => {
    const { hosts, vms, add, remove } = aTenant()
    const other = hosts.create(aHost())
    vms.create(aVm(other.id, { name: 'web' }))
    const web = add({ name: 'web' })
    expect(faultOf(() => add({ name: 'web' })).code).toBe('vm/name-taken')
    remove(web.id)
    expect(add({ name: 'web' }).tenant).toBe('team')
  })
})

describe('quotas', () => {
  it.each([
    ['max_vms', { maxVms: 2 }, refused('max_vms', 2, 1, 2)],
    ['max_vcpus', { maxVcpus: 5 }, refused('max_vcpus', 4, 2, 5)],
    ['max_mem_mb', { maxMemMb: 2048 }, refused('max_mem_mb', 2048, 1024, 2048)],
    ['max_disk_gb', { maxDiskGb: 59 }, refused('max_disk_gb', 40, 20, 59)],
  ])('past %s a create is refused with what is used and wanted, and nothing is written', (_, limits, fault) => {
    const { add, vms, host, hosts } = aTenant(limits)
    const size = { vcpus: 2, memMb: 1024, diskGb: 20 }
    add(size)
    add(size)
    const before = [vms.listAll(), hosts.get(host.id).epoch]
    expect(faultOf(() => add(size))).toMatchObject(fault)
    expect([vms.listAll(), hosts.get(host.id).epoch]).toEqual(before)
  })

  it('a VM its host has already is taken in by the same quota', () => {
    const { vms, host } = aTenant({ maxVms: 0 })
    const row = { ...aVm(host.id), forceStop: false, restartCount: 0 }
    expect(faultOf(() => vms.adopt(row))).toMatchObject(refused('max_vms', 0, 1, 0))
  })

  it('deleted VMs count for their disks alone until they are destroyed', () => {
    const { vms, tenants, host, add, remove } = aTenant({ maxVms: 1, maxVcpus: 1, maxMemMb: 512, maxDiskGb: 20 })
    const first = add()
    remove(first.id)
    const second = add()
    expect(tenants.get('team').used).toEqual({ vms: 1, vcpus: 1, memMb: 512, diskGb: 20 })
    remove(second.id)
    expect(faultOf(() => add())).toMatchObject(refused('max_disk_gb', 20, 10, 20))
    vms.reap(host.id, [first.id])
    expect(add().tenant).toBe('team')
  })

  it('bringing a VM back needs room again', () => {
    const { vms, add, remove } = aTenant({ maxVms: 1 })
    const first = add()
    remove(first.id)
    add()
    const undelete = () => vms.edit(first.id, 'vm.undelete', { deletedAt: null, graceS: null })
    expect(faultOf(undelete)).toMatchObject(refused('max_vms', 1, 1, 1))
  })

  it('a quota lowered below what is used takes nothing away and hinders no other edit', () => {
    const { vms, tenants, add, remove } = aTenant()
    const vm = add({ vcpus: 4 })
    tenants.update('team', { maxVms: 0, maxVcpus: 1, maxMemMb: 1, maxDiskGb: 1 })
    vms.edit(vm.id, 'vm.stop', { powerState: 'stopped' })
    vms.edit(vm.id, 'vm.rename', { name: 'other' })
    expect(faultOf(() => add()).code).toBe('tenant/over-quota')
    remove(vm.id)
    tenants.update('team', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null })
    expect(add().tenant).toBe('team')
  })

  it('one tenant filling its quota leaves another its own', () => {
    const { hosts, vms, add } = aTenant({ maxVms: 1 })
    add()
    const other = hosts.create(aHost())
    expect(vms.create(aVm(other.id)).tenant).toBe('default')
  })

  it('whoever writes past them is refused, by the table itself', () => {
    const { db, add } = aTenant({ maxVcpus: 2 })
    const vm = add({ vcpus: 2 })
    const raw = () => db.run('UPDATE vms SET vcpus = 3 WHERE id = $id', { id: vm.id })
    expect(faultOf(raw)).toMatchObject({ params: { constraint: 'over quota max_vcpus' } })
    expect(faultOf(() => db.run('UPDATE vms SET tenant = $t', { t: anId() }))).toBeDefined()
  })
})
