import { describe, expect, it } from 'vitest'
import type { VmEdit } from '../../../../../src/main/control/store/vm-row.ts'
import { aHost, anId, aStore, aVm, faultOf } from '../a-store.ts'

describe('VMs store', () => {
  it('gives back every column as it was put in', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const vm = aVm(host.id, {
      cloudInit: new TextEncoder().encode('#cloud-config\n'),
      labels: { env: 'prod' },
      sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
      trustedCas: ['ssh-ed25519 BBBB ca'],
      injectedKey: { fingerprint: 'SHA256:x', comment: 'app' },
      autostart: false,
      network: 'office',
      backend: 'qemu',
    })
    vms.create(vm)
    expect(vms.find(vm.id)).toMatchObject({ ...vm, tenant: 'default', deletedAt: null, graceS: null, status: '' })
  })

  it('refuses a second live VM of the name, and frees the name with the tombstone', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const first = vms.create(aVm(host.id, { name: 'web' }))
    expect(faultOf(() => vms.create(aVm(host.id, { name: 'web' })))).toMatchObject({
      code: 'vm/name-taken',
      params: { vm: 'web' },
    })
    vms.edit(first.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    vms.create(aVm(host.id, { name: 'web' }))
    expect(faultOf(() => vms.edit(first.id, 'vm.undelete', { deletedAt: null, graceS: null })).code).toBe(
      'vm/name-taken',
    )
    expect(vms.find(first.id)?.deletedAt).not.toBeNull()
  })

  it('takes the tenant from the host row, and names are free across tenants', () => {
    const { db, hosts, vms } = aStore()
    db.run("INSERT INTO tenants (name, created_at) VALUES ('other', '')")
    const [one, two] = [hosts.create(aHost()), hosts.create(aHost({ tenant: 'other' }))]
    vms.create(aVm(one.id, { name: 'web' }))
    expect(vms.create(aVm(two.id, { name: 'web' })).tenant).toBe('other')
  })

  it('refuses VMs for a host that is unknown or leaving', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost({ name: 'rack' }))
    hosts.setStatus(host.id, 'decommissioning')
    expect(faultOf(() => vms.create(aVm(host.id)))).toMatchObject({
      code: 'host/not-accepting',
      params: { host: 'rack' },
    })
    expect(faultOf(() => vms.create(aVm(anId()))).code).toBe('host/not-found')
    expect(vms.listAll()).toEqual([])
  })

  it('refuses sizes below one at the storage layer too', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    expect(faultOf(() => vms.create(aVm(host.id, { vcpus: 0 }))).code).toBe('store/unavailable')
  })

  const edits: [string, VmEdit, bigint][] = [
    ['a start that changes nothing', { powerState: 'running', forceStop: false }, 0n],
    ['a stop', { powerState: 'stopped' }, 1n],
    ['a restart', { restartCount: 1 }, 1n],
    ['a delete', { deletedAt: new Date(), graceS: 60 }, 1n],
    ['a rename', { name: 'other' }, 1n],
  ]
  it.each(edits)('%s raises the epoch of its host by exactly what it changes', (_, edit, by) => {
    const { hosts, vms } = aStore()
    const [host, bystander] = [hosts.create(aHost()), hosts.create(aHost())]
    const vm = vms.create(aVm(host.id))
    const before = hosts.get(host.id).epoch
    vms.edit(vm.id, 'vm.test', edit)
    expect(hosts.get(host.id).epoch).toBe(before + by)
    expect(hosts.get(bystander.id).epoch).toBe(bystander.epoch)
  })

  it('creating and reaping raise the epoch, live facts do not', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const vm = vms.create(aVm(host.id))
    expect(hosts.get(host.id).epoch).toBe(host.epoch + 1n)
    vms.setStatus(vm.id, host.id, { status: 'ready', lastError: '', lastReason: '', ip: '10.0.0.9' })
    vms.setNetworkIp(vm.id, host.id, '192.0.2.1')
    vms.setHostPublicKey(vm.id, host.id, 'ssh-ed25519 AAAA')
    expect(hosts.get(host.id).epoch).toBe(host.epoch + 1n)
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    vms.reap(host.id, [vm.id])
    expect(hosts.get(host.id).epoch).toBe(host.epoch + 3n)
  })

  it('a refused edit leaves the epoch', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const [one] = [vms.create(aVm(host.id, { name: 'one' })), vms.create(aVm(host.id, { name: 'two' }))]
    const before = hosts.get(host.id).epoch
    faultOf(() => vms.edit(one.id, 'vm.rename', { name: 'two' }))
    expect(hosts.get(host.id).epoch).toBe(before)
  })

  it('an empty address keeps the known one, and the write says what is stored', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const vm = vms.create(aVm(host.id))
    const status = { status: 'ready' as const, lastError: '', lastReason: '' }
    expect(vms.setStatus(vm.id, host.id, { ...status, ip: '10.0.0.9' })).toEqual({ ip: '10.0.0.9' })
    expect(vms.setStatus(vm.id, host.id, { ...status, ip: '' })).toEqual({ ip: '10.0.0.9' })
  })

  it("a host writes nothing onto another host's VM", () => {
    const { hosts, vms } = aStore()
    const [owner, stranger] = [hosts.create(aHost()), hosts.create(aHost())]
    const vm = vms.create(aVm(owner.id))
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    const before = vms.find(vm.id)
    const status = { status: 'failed' as const, lastError: 'x', lastReason: '', ip: '' }
    expect(faultOf(() => vms.setStatus(vm.id, stranger.id, status)).code).toBe('vm/not-found')
    vms.setNetworkIp(vm.id, stranger.id, '192.0.2.1')
    vms.setHostPublicKey(vm.id, stranger.id, 'ssh-ed25519 AAAA')
    expect(vms.reap(stranger.id, [vm.id])).toEqual([])
    expect(vms.find(vm.id)).toEqual(before)
  })

  it('only a tombstoned VM is reaped, with a vm.reap row as the last of its timeline', () => {
    const { hosts, vms, audit } = aStore()
    const host = hosts.create(aHost())
    const [live, dead] = [vms.create(aVm(host.id)), vms.create(aVm(host.id, { name: 'dead' }))]
    vms.edit(dead.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    expect(vms.reap(host.id, [live.id, dead.id, anId()])).toEqual([dead.id])
    expect(vms.find(live.id)).toBeDefined()
    const timeline = audit.list({ vmId: dead.id, limit: 10 })
    expect(timeline.map((row) => row.action)).toEqual(['vm.reap', 'vm.delete', 'vm.create'])
    expect(timeline[0]).toMatchObject({ tenant: 'default', hostId: host.id, detail: { name: 'dead' } })
  })

  it('a reap of several is published once, and so pokes once', () => {
    const { db, hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const dead = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    for (const vm of dead) vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    const commits: string[][] = []
    db.onCommit((changes) => commits.push(changes.filter((c) => c.noun === 'desired').map((c) => c.id)))
    vms.reap(
      host.id,
      dead.map((vm) => vm.id),
    )
    expect(commits).toEqual([[host.id]])
  })
})
