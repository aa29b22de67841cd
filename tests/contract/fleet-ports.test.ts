import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FleetDelta } from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Port } from '../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import type { FleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { HOST, ScriptedHost } from '../support/scripted-host.ts'

let rack: ScriptedHost
let agent: FakeSyncAgent
let client: FleetClient
let vmId: string

beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent, client } = rack)
  vmId = await rack.vm('web')
})
afterEach(() => rack[Symbol.asyncDispose]())

const eitri = (...argv: string[]) => rack.eitri(...argv)

const published = () => agent.snapshots.at(-1)?.state?.exposures ?? []
const list = async () => (await client.ports.listPorts({})).ports

describe('publishing a port', () => {
  it('tells the host, shows what it answers, and takes it back', async () => {
    const { port, created } = await client.ports.publishPort({ vm: 'web', guestPort: 443, hostPort: 8443 })
    expect([created, port]).toMatchObject([
      true,
      { vmId, vmName: 'web', hostId: HOST, hostName: 'rack', guestPort: 443, hostPort: 8443, protocol: 'tcp' },
    ])
    expect([port?.scope, port?.state, port?.sessions]).toEqual(['lan', undefined, undefined])
    await expect.poll(published).toMatchObject([{ id: port?.id, vmId, guestPort: 443, hostPort: 8443, scope: 'lan' }])
    const id = port?.id ?? ''
    const sessions = { active: 2n, refused: 1n, dropped: 0n }
    agent.report({ hostUplinkAddr: '10.0.2.7', exposures: [{ id, state: 'listening', sessions }] })
    await expect
      .poll(list)
      .toMatchObject([{ state: 'listening', sessions, hostAddress: '10.0.2.7', hostUnknown: false }])
    await client.ports.unpublishPort({ id })
    expect(await list()).toEqual([])
    await expect.poll(published).toEqual([])
  })

  it('is done once however often it is asked, and by one when two ask', async () => {
    const asked = { vm: 'web', guestPort: 80, ifAbsent: true }
    const [first, second] = [await client.ports.publishPort(asked), await client.ports.publishPort(asked)]
    expect([first.created, second.created, second.port?.id]).toEqual([true, false, first.port?.id])
    await rack.vm('db')
    const both = await Promise.allSettled(
      ['web', 'db'].map((vm) => client.ports.publishPort({ vm, guestPort: 1, hostPort: 9000 })),
    )
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('counts what its host counts, zero too, and shows none where it counts none', async () => {
    const ids = [1, 2].map(
      async (guestPort) => (await client.ports.publishPort({ vm: 'web', guestPort })).port?.id ?? '',
    )
    const [counted = '', uncounted = ''] = await Promise.all(ids)
    agent.report({
      exposures: [
        { id: counted, state: 'listening', sessions: {} },
        { id: uncounted, state: 'listening' },
      ],
    })
    await expect.poll(async () => (await list()).map(({ state }) => state)).toEqual(['listening', 'listening'])
    const rows = (await eitri('port', 'list', '--json')).json().ports as { id: string; sessions?: unknown }[]
    const row = (id: string) => rows.find((r) => r.id === id)
    expect(row(counted)?.sessions).toEqual({ active: '0', refused: '0', dropped: '0' })
    expect(row(uncounted)).not.toHaveProperty('sessions')
  })

  it('of a host that has not said anything is unknown, not wrong', async () => {
    await client.ports.publishPort({ vm: 'web', guestPort: 1 })
    const [port] = await list()
    expect(port).toMatchObject({ reason: '', hostAddress: '' })
    expect([port?.state, port?.sessions]).toEqual([undefined, undefined])
  })

  it('goes with its deleted VM, comes back with it, and is gone once that is destroyed', async () => {
    const { port } = await client.ports.publishPort({ vm: 'web', guestPort: 443 })
    await expect.poll(published).toHaveLength(1)
    await client.vms.deleteVm({ vm: 'web' })
    await expect.poll(published).toEqual([])
    expect(await list()).toMatchObject([
      { id: port?.id, state: 'waiting', reason: 'VM web is deleted; the port is back when the VM is.' },
    ])
    await client.vms.undeleteVm({ vm: 'web' })
    await expect.poll(published).toMatchObject([{ id: port?.id }])
    await client.vms.deleteVm({ vm: 'web' })
    await client.vms.purgeVm({ vm: 'web' })
    agent.report({ destroyed: [vmId] })
    await expect.poll(list).toEqual([])
  })

  it('reaches whoever watches the fleet, with every change of it', async () => {
    const stop = new AbortController()
    const ports = new Map<string, Port>()
    const watching = (async () => {
      for await (const { message } of client.fleet.watchFleet({}, { signal: stop.signal })) {
        for (const port of message.value?.ports ?? []) ports.set(port.id, port)
        if (message.case === 'delta') for (const id of (message.value as FleetDelta).removedPortIds) ports.delete(id)
      }
    })().catch(() => {})
    const { port } = await client.ports.publishPort({ vm: 'web', guestPort: 443 })
    const id = port?.id ?? ''
    await expect.poll(() => ports.get(id)?.vmName).toBe('web')
    agent.report({ exposures: [{ id, state: 'failed', reason: 'Port 24000 is used by nginx (pid 812).' }] })
    await expect.poll(() => ports.get(id)?.reason).toBe('Port 24000 is used by nginx (pid 812).')
    await client.ports.unpublishPort({ id })
    await expect.poll(() => ports.size).toBe(0)
    stop.abort()
    await watching
  })
})

describe('eitri port', () => {
  it('publishes, lists and unpublishes', async () => {
    const made = (await eitri('port', 'publish', 'web', '53/udp', '--host-port', '5353', '--json')).json()
    expect(made).toMatchObject({ vm_name: 'web', guest_port: 53, host_port: 5353, protocol: 'udp', scope: 'lan' })
    expect(made).not.toHaveProperty('state')
    await eitri('port', 'publish', 'web', '443', '--loopback')
    agent.report({
      hostUplinkAddr: '10.0.2.7',
      exposures: [
        { id: made.id, state: 'failed', reason: 'UDP port 5353 is used by avahi-daemon (pid 7).', sessions: {} },
      ],
    })
    await expect
      .poll(async () => (await eitri('port', 'list')).out.split('\n'))
      .toEqual([
        'ID            HOST  PUBLISHED          LEADS TO    STATE    ACTIVE  REFUSED  DROPPED  REASON',
        `${made.id.slice(0, 12)}  rack  10.0.2.7:5353/udp  web:53/udp  failed   0       0        0        UDP port 5353 is used by avahi-daemon (pid 7).`,
        expect.stringMatching(/^[0-9a-f]{12} {2}rack {2}127\.0\.0\.1:24000 {4}web:443 {5}unknown {2}– {7}– {8}–$/),
        '',
      ])
    expect(await eitri('port', 'unpublish', made.id.slice(0, 12))).toMatchObject({ code: 0, out: '', err: '' })
    expect((await eitri('port', 'list', '--vm', 'web', '--json')).json().ports).toHaveLength(1)
  })

  it('says whose a taken port is and which is free, and what is wrong with what was typed', async () => {
    await eitri('port', 'publish', 'web', '443', '--host-port', '8443')
    const taken = await eitri('port', 'publish', 'web', '80', '--host-port', '8443')
    expect(taken).toMatchObject({
      code: 1,
      out: '',
      err: 'Port 8443 on rack is published already, for web. Nothing was changed. Use 8444, or another port.\n',
    })
    for (const argv of [
      ['web', '0'],
      ['web', '443/sctp'],
      ['web', '443', '--host-port', '70000'],
    ])
      expect(await eitri('port', 'publish', ...argv)).toMatchObject({ code: 2, out: '' })
    expect(await eitri('port', 'unpublish', 'f'.repeat(32))).toMatchObject({ code: 1, out: '' })
    expect(await eitri('port', 'unpublish', 'nginx')).toMatchObject({ code: 2, out: '' })
    expect(await eitri('port', 'publish', 'nobody', '443')).toMatchObject({ code: 1, out: '' })
  })
})
