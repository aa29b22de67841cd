import { describe, expect, it } from 'vitest'
import { actingAs } from '../../../../../src/main/control/store/actor.ts'
import { aHost, anId, anImage, aStore, aVm, faultOf } from '../a-store.ts'

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
    expect(actions({ tenants: ['system'] })).toEqual([])
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

  it('removes what is old in steps when asked to, and nothing of what is younger', () => {
    const { audit, time } = aStore()
    for (let n = 0; n < 5; n++) audit.add({ action: `old.${n}`, tenant: 'system' })
    time.now += 10 * DAY
    audit.add({ action: 'new', tenant: 'system' })
    expect([audit.prune(DAY, 2), audit.prune(DAY, 2), audit.prune(DAY, 2), audit.prune(DAY, 2)]).toEqual([2, 2, 1, 0])
    expect(audit.list({ limit: 10 })).toHaveLength(1)
  })

  it('is append-only: no row is edited, and only retention removes one', () => {
    const { audit, db, time } = aStore()
    audit.add({ action: 'vm.create', tenant: 'default' })
    const constraint = 'the audit trail is append-only'
    const refused = { code: 'store/conflict', params: { constraint } }
    expect(faultOf(() => db.run("UPDATE audit SET detail = '{}'"))).toMatchObject(refused)
    expect(faultOf(() => db.run('DELETE FROM audit'))).toMatchObject(refused)
    time.now += 10 * DAY
    audit.prune(DAY)
    audit.add({ action: 'vm.stop', tenant: 'default' })
    expect(faultOf(() => db.run('DELETE FROM audit'))).toMatchObject(refused)
    expect(audit.list({ limit: 10 }).map((row) => row.action)).toEqual(['vm.stop'])
  })

  it('fills who asked, through what and under which request by itself', () => {
    const { audit } = aStore()
    audit.add({ action: 'vm.reap', tenant: 'default' })
    const alice = { user: 'alice', client: 'cli', requestId: 'r-7' } as const
    actingAs(alice, () => audit.add({ action: 'vm.stop', tenant: 'default' }))
    expect(audit.list({ limit: 10 })).toMatchObject([alice, { user: '', client: 'eitri', requestId: '' }])
  })

  it('a task that outlives its request keeps its requester', async () => {
    const { audit } = aStore()
    const later = actingAs({ user: 'alice', client: 'app', requestId: 'r-8' }, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      audit.add({ action: 'host.add', tenant: 'default' })
    })
    await later
    expect(audit.list({ limit: 1 })).toMatchObject([{ user: 'alice', client: 'app', requestId: 'r-8' }])
  })

  it('pages backwards without missing or repeating an entry, whatever the filter', () => {
    const { audit } = aStore()
    const tenants = ['default', 'system', 'other']
    for (let n = 0; n < 60; n++)
      actingAs({ user: '', client: 'cli', requestId: `r-${n % 4}` }, () =>
        audit.add({
          ...{
            action: ['vm.create', 'vm.stop', 'host.add'][n % 3] ?? '',
            tenant: tenants[n % 3 === 2 ? n % 2 : n % 3] ?? '',
          },
          ...{ vmId: `v${n % 5}`, hostId: `h${n % 2}` },
        }),
      )
    const all = audit.list({ limit: 1000 })
    const filters = [
      { tenants: ['default', 'system'] },
      { tenants: ['other'] },
      { action: 'vm.' },
      { tenants: ['default'], action: 'vm.create' },
      { tenants: ['default', 'system'], action: 'vm.' },
      { vmId: 'v1', tenants: ['default', 'system'] },
      { hostId: 'h1', action: 'vm.' },
      { requestId: 'r-1', action: 'vm.stop', tenants: ['system'] },
    ]
    for (const filter of filters) {
      const wanted = all.filter(
        (row) =>
          (!filter.tenants || filter.tenants.includes(row.tenant)) &&
          (!filter.action || row.action.startsWith(filter.action)) &&
          (!filter.vmId || row.vmId === filter.vmId) &&
          (!filter.hostId || row.hostId === filter.hostId) &&
          (!filter.requestId || row.requestId === filter.requestId),
      )
      const seen = []
      for (let beforeId = 10_000; ; ) {
        const page = audit.list({ ...filter, beforeId, limit: 4 })
        seen.push(...page)
        if (page.length < 4) break
        beforeId = Number(page.at(-1)?.id)
      }
      expect(seen, JSON.stringify(filter)).toEqual(wanted)
      expect(audit.list({ ...filter, afterId: 0, limit: 1000 }).reverse(), JSON.stringify(filter)).toEqual(wanted)
    }
  })

  it('answers since a moment also where the clock was set back meanwhile', () => {
    const { audit, time } = aStore()
    const offsets = [0, 10, 20, 5, 15, 25, 30]
    const start = time.now
    for (const [n, offset] of offsets.entries()) {
      time.now = start + offset * 1000
      audit.add({ action: `x.${n}`, tenant: n % 2 === 0 ? 'default' : 'system' })
    }
    for (const s of [-1, 0, 6, 12, 30, 31]) {
      const since = new Date(start + s * 1000)
      const wanted = offsets.flatMap((offset, n) => (offset >= s ? [`x.${n}`] : [])).reverse()
      const query = { since, tenants: ['default', 'system'], limit: 100 }
      expect(
        audit.list(query).map((row) => row.action),
        String(s),
      ).toEqual(wanted)
    }
  })

  it('a mutation leaves what it changed, before and after, and vm.reap is the last row of a VM', () => {
    const { hosts, vms, audit } = aStore()
    const host = hosts.create(aHost())
    const vm = vms.create(aVm(host.id, { name: 'web', cloudInit: new TextEncoder().encode('password: hunter2') }))
    vms.edit(vm.id, 'vm.stop', { powerState: 'stopped' })
    vms.edit(vm.id, 'vm.stop', { powerState: 'stopped' })
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(0), graceS: 60 })
    vms.reap(host.id, [vm.id])
    const timeline = audit.list({ vmId: vm.id, limit: 10 }).reverse()
    expect(timeline.map((row) => row.action)).toEqual(['vm.create', 'vm.stop', 'vm.stop', 'vm.delete', 'vm.reap'])
    const sides = timeline.map(({ before, after }) => [before && JSON.parse(before), after && JSON.parse(after)])
    expect(sides[0]?.[0]).toBe('')
    expect(sides[0]?.[1]).toMatchObject({ name: 'web', vcpus: 1, mem_mb: 512, cloud_init: '(not kept)' })
    expect(sides[1]).toEqual([{ power_state: 'running' }, { power_state: 'stopped' }])
    expect(sides[2]).toEqual(['', ''])
    expect(sides[3]).toEqual([
      { deleted_at: null, grace_s: null },
      { deleted_at: '1970-01-01T00:00:00.000Z', grace_s: 60 },
    ])
    expect(sides[4]?.[0]).toMatchObject({ name: 'web', grace_s: 60 })
    expect(sides[4]?.[1]).toBe('')
    expect(JSON.stringify(timeline)).not.toContain('hunter2')
  })

  it('a VM whose host is forgotten has a last row of its own', () => {
    const { hosts, vms, audit } = aStore()
    const host = hosts.create(aHost())
    const vm = vms.create(aVm(host.id))
    hosts.remove(host.id)
    expect(audit.list({ vmId: vm.id, limit: 1 })).toMatchObject([{ action: 'vm.forget', tenant: 'default' }])
  })

  it('every mutation of every store leaves a row', () => {
    const { hosts, vms, images, exposures, tenants, audit } = aStore()
    const host = hosts.create(aHost())
    hosts.setAgent(host.id, { ...host.agent, executable: '/x' })
    hosts.setHostKey(host.id, 'SHA256:abc')
    const vm = vms.create(aVm(host.id))
    const port = anId()
    exposures.create({ id: port, vmId: vm.id, guestPort: 80, hostPort: 0, protocol: 'tcp', scope: 'lan' })
    exposures.remove('default', port)
    vms.edit(vm.id, 'vm.stop', { powerState: 'stopped' })
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    vms.reap(host.id, [vm.id])
    const image = images.create(anImage())
    images.setDefault(image.id)
    images.replace({ ...image, sha256: 'b'.repeat(64) })
    images.remove('default', image.id)
    hosts.setStatus(host.id, 'decommissioning')
    hosts.remove(host.id)
    tenants.create('team', { maxVms: 1, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    tenants.update('team', { maxVms: 2 })
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
      'port.publish',
      'port.unpublish',
      'vm.stop',
      'vm.delete',
      'vm.reap',
      'image.add',
      'image.default',
      'image.replace',
      'image.remove',
      'host.status',
      'host.remove',
      'tenant.create',
      'tenant.update',
    ])
    const unsaid = audit.list({ limit: 100 }).filter((row) => row.before === '' && row.after === '')
    expect(unsaid.map((row) => row.action)).toEqual([])
  })
})
