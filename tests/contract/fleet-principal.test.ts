import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { openStores } from '../../src/main/control/store/stores.ts'
import { rawCall } from '../support/raw-api.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rig: ScriptedHost

beforeEach(async () => {
  rig = await ScriptedHost.open()
})
afterEach(() => rig[Symbol.asyncDispose]())

const LIST = 'eitri.fleet.v1.VmService/ListVms'
const list = (headers: Record<string, string>) => rawCall(rig.apiSocket, LIST, '{}', headers)

function auditRows() {
  const stores = openStores(rig.database, { now: () => Date.now() })
  try {
    return stores.audit.list({ limit: 100 })
  } finally {
    stores.db.close()
  }
}

describe('who asks', () => {
  it('an answer carries the request id it was asked under, or one made for it', async () => {
    const own = await list({ 'x-request-id': 'run-7/step~3' })
    expect([own.status, own.headers['x-request-id']]).toEqual([200, 'run-7/step~3'])
    const made = await list({})
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    for (const bad of ['a b', 'x'.repeat(65), '']) {
      const answer = await list({ 'x-request-id': bad })
      expect(answer.headers['x-request-id'], bad).toMatch(/^[0-9a-f-]{36}$/)
    }
    const failed = await rawCall(rig.apiSocket, 'eitri.fleet.v1.VmService/GetVm', '{"vm":"none"}', {
      'x-request-id': 'q1',
    })
    expect([failed.status, failed.headers['x-request-id']]).toEqual([404, 'q1'])
  })

  it.each(['none', '', 'Not A Name', '../default', 'system', 'x'.repeat(64)])(
    'a tenant that is not there, "%s", is refused as an absent thing is',
    async (tenant) => {
      const answer = await list({ 'eitri-tenant': tenant })
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'not_found' })
      expect(answer.body.toString()).toContain('tenant/not-found')
    },
  )

  it('without a tenant the default one is meant', async () => {
    await rig.vm('web')
    for (const headers of [{}, { 'eitri-tenant': 'default' }])
      expect(JSON.parse((await list(headers)).body.toString()).vms).toHaveLength(1)
  })

  it('the audit trail names the person, the client and the request of what they did', async () => {
    await rawCall(rig.apiSocket, 'eitri.fleet.v1.VmService/CreateVm', createBody('web'), {
      'eitri-client': 'mcp',
      'x-request-id': 'r-1',
    })
    await rawCall(rig.apiSocket, 'eitri.fleet.v1.VmService/StopVm', '{"vm":"web"}', { 'eitri-client': 'root' })
    await rig.eitri('vm', 'delete', 'web')
    const rows = auditRows()
    const who = (action: string) => rows.find((row) => row.action === action)
    expect(who('vm.create')).toMatchObject({ client: 'mcp', requestId: 'r-1' })
    expect(who('vm.create')?.user).not.toBe('')
    expect(who('vm.stop')).toMatchObject({ client: 'api' })
    expect(who('vm.delete')).toMatchObject({ client: 'cli' })
  })

  it('what a host reports by itself has no user, also when a request began its link', async () => {
    const id = await rig.vm('web')
    await rig.client.hosts.reconnectHost({ host: 'rack' })
    await rig.client.vms.deleteVm({ vm: 'web' })
    await rig.client.vms.purgeVm({ vm: 'web' })
    await expect.poll(() => rig.agent.snapshots.at(-1)?.state?.vms[0]?.tombstone?.graceS).toBe(0n)
    rig.agent.report({ destroyed: [id], lastSeenEpoch: rig.agent.snapshots.at(-1)?.epoch ?? 0n })
    await expect.poll(() => auditRows()[0]?.action).toBe('vm.reap')
    expect(auditRows()[0]).toMatchObject({ user: '', client: 'eitri', requestId: '', vmId: id, tenant: 'default' })
  })

  it('a console opens in a tenant that is there, and in no other', async () => {
    const upgrade = (query: string, headers: Record<string, string> = {}) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(`ws+unix:${rig.apiSocket}:/console${query}`, { headers })
        socket.on('open', () => {
          socket.close()
          resolve('open')
        })
        socket.on('error', (error) => resolve(error.message))
      })
    expect(await upgrade('')).toBe('open')
    expect(await upgrade('?tenant=default')).toBe('open')
    expect(await upgrade('', { 'eitri-tenant': 'default' })).toBe('open')
    for (const refused of [upgrade('?tenant=none'), upgrade('?tenant='), upgrade('', { 'eitri-tenant': 'system' })])
      expect(await refused).toContain('404')
  })

  it('the command line acts in the tenant it is told, by option or by environment', async () => {
    expect(await rig.eitri('--tenant', 'none', 'vm', 'list')).toMatchObject({ code: 1 })
    expect((await rig.eitri('vm', 'list', '--tenant', 'none')).err).toContain('There is no tenant none.')
    expect(await rig.eitri('--tenant', 'NONE', 'vm', 'list')).toMatchObject({ code: 2 })
    process.env['EITRI_TENANT'] = 'nowhere'
    try {
      expect((await rig.eitri('vm', 'list')).err).toContain('There is no tenant nowhere.')
    } finally {
      delete process.env['EITRI_TENANT']
    }
  })
})

const createBody = (name: string) =>
  JSON.stringify({ name, imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) })
