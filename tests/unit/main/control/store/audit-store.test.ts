import { describe, expect, it } from 'vitest'
import { aHost, anImage, aStore, aVm } from '../a-store.ts'

const DAY = 24 * 3600 * 1000

describe('audit store', () => {
  it('lists newest first, by VM, host and time', () => {
    const { audit, time } = aStore()
    audit.add({ action: 'vm.create', tenant: 'default', vmId: 'v1', hostId: 'h1' })
    time.now += 1000
    const since = new Date(time.now)
    audit.add({ action: 'vm.stop', tenant: 'default', vmId: 'v1', hostId: 'h1', detail: { force: 'true' } })
    audit.add({ action: 'vm.create', tenant: 'default', vmId: 'v2', hostId: 'h2' })
    const actions = (query: object) => audit.list({ limit: 10, ...query }).map((row) => `${row.action} ${row.vmId}`)
    expect(actions({ vmId: 'v1' })).toEqual(['vm.stop v1', 'vm.create v1'])
    expect(actions({ hostId: 'h2' })).toEqual(['vm.create v2'])
    expect(actions({ since })).toEqual(['vm.create v2', 'vm.stop v1'])
    expect(actions({ limit: 1 })).toEqual(['vm.create v2'])
    expect(actions({ tenant: 'system' })).toEqual([])
    expect(audit.list({ limit: 10, vmId: 'v1' })[0]).toMatchObject({ at: since, detail: { force: 'true' } })
  })

  it('removes what is older than the window and says how many', () => {
    const { audit, time } = aStore()
    audit.add({ action: 'old', tenant: 'system' })
    time.now += 10 * DAY
    audit.add({ action: 'new', tenant: 'system' })
    expect(audit.prune(5 * DAY)).toBe(1)
    expect(audit.list({ limit: 10 }).map((row) => row.action)).toEqual(['new'])
  })

  it.each([0, -1, Number.NaN])('a window of %s removes nothing', (window) => {
    const { audit, time } = aStore()
    audit.add({ action: 'old', tenant: 'system' })
    time.now += 10 * DAY
    expect(audit.prune(window)).toBe(0)
    expect(audit.list({ limit: 10 })).toHaveLength(1)
  })

  it('every mutation of every store leaves a row', () => {
    const { hosts, vms, images, audit } = aStore()
    const host = hosts.create(aHost())
    hosts.setAgent(host.id, { ...host.agent, executable: '/x' })
    hosts.setHostKey(host.id, 'SHA256:abc')
    const vm = vms.create(aVm(host.id))
    vms.edit(vm.id, 'vm.stop', { powerState: 'stopped' })
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    vms.reap(host.id, [vm.id])
    const image = images.create(anImage())
    images.setDefault(image.id)
    images.replace({ ...image, sha256: 'b'.repeat(64) })
    images.remove('default', image.id)
    hosts.setStatus(host.id, 'decommissioning')
    hosts.remove(host.id)
    expect(
      audit
        .list({ limit: 100 })
        .map((row) => row.action)
        .reverse(),
    ).toEqual([
      'host.add',
      'host.agent',
      'host.accept-key',
      'vm.create',
      'vm.stop',
      'vm.delete',
      'vm.reap',
      'image.add',
      'image.default',
      'image.replace',
      'image.remove',
      'host.status',
      'host.remove',
    ])
  })
})
