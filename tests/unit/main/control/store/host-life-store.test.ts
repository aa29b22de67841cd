import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aHost, aStore, aVm, faultOf, START } from '../a-store.ts'

const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')
const MINUTE = 60_000

describe('the life of a host', () => {
  it('has a name of its own in its tenant, labels, and a row in the trail for each change', () => {
    const { hosts, hostLife, audit } = aStore()
    const one = hosts.create(aHost({ name: 'one' }))
    hosts.create(aHost({ name: 'two' }))
    expect(hostLife.edit(one.id, { name: 'three', labels: { rack: '7' } })).toMatchObject({
      name: 'three',
      labels: { rack: '7' },
    })
    hostLife.edit(one.id, { name: 'three', labels: { rack: '7' } })
    expect(faultOf(() => hostLife.edit(one.id, { name: 'two', labels: {} }))).toMatchObject({ code: 'host/name-taken' })
    expect(hosts.get(one.id)).toMatchObject({ name: 'three', labels: { rack: '7' } })
    const edits = audit.list({ hostId: one.id, limit: 9 }).filter(({ action }) => action === 'host.edit')
    expect(edits).toHaveLength(1)
    expect(edits[0]).toMatchObject({
      before: '{"name":"one","labels":{}}',
      after: '{"name":"three","labels":{"rack":"7"}}',
    })
  })

  it('takes no new VMs while it is drained, and says so; those it has stay', () => {
    const { hosts, hostLife, vms } = aStore()
    const host = hosts.create(aHost({ name: 'rack' }))
    vms.create(aVm(host.id))
    hostLife.setDraining(host.id, 'leave')
    expect(faultOf(() => vms.create(aVm(host.id)))).toMatchObject({
      code: 'host/not-accepting',
      params: { host: 'rack', why: 'draining' },
    })
    expect(vms.listByHost(host.id)).toHaveLength(1)
    hostLife.setDraining(host.id, '')
    vms.create(aVm(host.id))
    expect(vms.listByHost(host.id)).toHaveLength(2)
  })

  it('stays revoked until it is let in again, with its VMs and its name', () => {
    const { hosts, hostLife, vms } = aStore()
    const host = hosts.create(aHost({ name: 'rack', credential: 'key' }))
    vms.create(aVm(host.id))
    hostLife.setCredentialEnds(host.id, new Date(START))
    expect(hosts.get(host.id)).toMatchObject({ credential: 'key', credentialEndsAt: new Date(START) })
    expect(hostLife.revoke(host.id)).toMatchObject({ credential: 'revoked', credentialEndsAt: null })
    const { identityPublicKey: _, ...agent } = host.agent
    const way = { ssh: null, agent, hostKeyFingerprint: 'SHA256:x', credential: 'key' as const }
    expect(hostLife.readmit(host.id, way)).toMatchObject({
      name: 'rack',
      credential: 'key',
      hostKeyFingerprint: 'SHA256:x',
    })
    expect(vms.listByHost(host.id)).toHaveLength(1)
  })
})

describe('join tokens', () => {
  it('are kept as hashes, work once, and give the host the tenant they were made in', () => {
    const { joinTokens, tenants, hosts, db } = aStore()
    tenants.create('lab', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    joinTokens.add('lab', hashOf('secret'), new Date(START + 15 * MINUTE))
    expect(JSON.stringify(db.list('SELECT * FROM join_tokens'))).not.toContain('secret')
    const host = aHost()
    const add = () =>
      db.transaction(() => hosts.create({ ...host, tenant: joinTokens.redeem(hashOf('secret'), host.id) }))
    expect(add()).toMatchObject({ tenant: 'lab' })
    expect(joinTokens.list('lab')).toMatchObject([{ hostId: host.id, usedAt: new Date(START) }])
    expect(faultOf(add)).toMatchObject({ code: 'host/token-refused', params: {} })
  })

  it('are refused alike whether they are unknown, used or ended', () => {
    const { joinTokens, time } = aStore()
    joinTokens.add('default', hashOf('used'), new Date(START + MINUTE))
    joinTokens.add('default', hashOf('ended'), new Date(START + MINUTE))
    joinTokens.redeem(hashOf('used'), 'a'.repeat(32))
    const refused = [hashOf('unknown'), hashOf('used')].map((hash) => faultOf(() => joinTokens.redeem(hash, 'b')))
    time.now = START + MINUTE
    refused.push(faultOf(() => joinTokens.redeem(hashOf('ended'), 'b')))
    const words = refused.map(({ code, params }) => JSON.stringify({ code, params }))
    expect(new Set(words)).toEqual(new Set(['{"code":"host/token-refused","params":{}}']))
  })

  it('are used up only when the host is made: both or neither', () => {
    const { joinTokens, hosts, db } = aStore()
    const known = hosts.create(aHost({ name: 'taken' }))
    joinTokens.add('default', hashOf('t'), new Date(START + MINUTE))
    const add = (name: string) =>
      db.transaction(() => {
        const host = aHost({ name })
        return hosts.create({ ...host, tenant: joinTokens.redeem(hashOf('t'), host.id) })
      })
    expect(faultOf(() => add('taken'))).toMatchObject({ code: 'host/name-taken' })
    expect(joinTokens.list('default')).toMatchObject([{ usedAt: null, hostId: '' }])
    expect(add('free').id).not.toBe(known.id)
  })

  it('are at most a hundred at a time, and forgotten a day after their end', () => {
    const { joinTokens, time } = aStore()
    for (let n = 0; n < 100; n++) joinTokens.add('default', hashOf(String(n)), new Date(START + MINUTE))
    expect(faultOf(() => joinTokens.add('default', hashOf('more'), new Date(START + MINUTE)))).toMatchObject({
      code: 'input/too-large',
    })
    time.now = START + 26 * 60 * MINUTE
    joinTokens.add('default', hashOf('later'), new Date(time.now + MINUTE))
    expect(joinTokens.list('default')).toHaveLength(1)
  })
})
