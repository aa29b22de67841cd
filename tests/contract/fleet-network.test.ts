import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromConnectError, toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import type { FleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const MAC = '52:54:00:aa:bb:cc'
/** That host lives an hour ahead of this computer. */
const AHEAD_MS = 3_600_000
let rack: ScriptedHost
let agent: FakeSyncAgent
let client: FleetClient
let vmId: string

beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent, client } = rack)
  vmId = await rack.vm('db')
})
afterEach(() => rack[Symbol.asyncDispose]())

const eitri = (...argv: string[]) => rack.eitri(...argv)

const DROP = {
  id: 'forward-drop',
  severity: 'blocks',
  what: 'Chain FORWARD of table ip filter drops, unless told otherwise, what the host forwards for guests.',
  effect: 'Guests reach the host, and nothing beyond it.',
  rule: 'chain FORWARD { type filter hook forward priority filter; policy drop; }',
  mend: 'Lets guests through by accepting what comes in from eitri0.',
}

/** A host of one mendable finding and one that a person must see to. */
class Host {
  mended = false
  asked: string[] = []
  findings = () => [
    { ...DROP, mended: this.mended },
    { id: 'mtu', severity: 'warns', what: 'Small uplink.', effect: 'Slow.' },
  ]
  checkNetwork = () => {
    this.asked.push('check')
    return { findings: this.findings() }
  }
  mendNetwork = ({ findingId, undo }: { findingId: string; undo: boolean }) => {
    this.asked.push(`${undo ? 'undo' : 'mend'} ${findingId}`)
    if (findingId !== DROP.id)
      throw toConnectError(new Fault('network/not-mendable', 'permanent', { finding: findingId, detail: 'no mend' }))
    this.mended = !undo
    return { findings: this.findings() }
  }
}

const networks = [
  { name: 'lan', kind: 'operator', bridge: 'br0', state: 'ready' },
  {
    ...{ name: 'guests', kind: 'nat', bridge: 'eitri0', cidr: '10.77.3.0/24', gateway: '10.77.3.1', state: 'ready' },
    addresses: [{ vmId: '', mac: MAC, ip: '10.77.3.21', source: 'reservation' }],
  },
]

describe('networks over the fleet API', () => {
  it('shows what hosts told of them, with the names of VMs and times by this computer', async () => {
    const there = Date.now() + AHEAD_MS
    const [lan, guests] = networks as [(typeof networks)[0], { addresses: object[] }]
    const seen = { vmId, mac: MAC, ip: '192.168.1.30', source: 'dhcp', seenAt: timestampFromMs(there - 60_000) }
    agent.report({
      builtAt: timestampFromMs(there),
      networks: [
        { ...lan, addresses: [seen] },
        { ...guests, addresses: [{ ...guests.addresses[0], vmId }] },
      ],
      networkFindings: [DROP],
    })
    await expect.poll(async () => (await client.networks.listNetworks({})).networks.length).toBe(2)
    const [own, operator] = (await client.networks.listNetworks({ host: 'rack' })).networks
    expect(own).toMatchObject({ hostName: 'rack', name: 'guests', kind: 'nat', cidr: '10.77.3.0/24', bridge: 'eitri0' })
    expect(own?.addresses).toMatchObject([{ vmName: 'db', mac: MAC, ip: '10.77.3.21', source: 'reservation' }])
    const at = operator?.addresses[0]?.seenAt
    expect(Math.abs(Date.now() - 60_000 - timestampMs(at!))).toBeLessThan(10_000)
    const { host } = await client.hosts.getHost({ host: 'rack' })
    expect(host?.networkFindings).toMatchObject([{ id: 'forward-drop', severity: 'blocks', rule: DROP.rule }])

    const list = await eitri('network', 'list', 'rack')
    expect(list.out).toMatch(/rack +guests +nat +10\.77\.3\.0\/24 +eitri0 +10\.77\.3\.1 +ready/)
    expect(list.out).toMatch(/rack +lan +db +192\.168\.1\.30 +dhcp +1 min ago/)
    expect((await eitri('network', 'list', '--json')).json().networks[0]).toMatchObject({
      host_name: 'rack',
      cidr: '10.77.3.0/24',
    })
  })

  it('shows nothing a host made up: no word of its own, no address that is none, no endless list', async () => {
    const liar = {
      ...{
        name: 'guests',
        kind: 'quantum',
        cidr: 'everywhere',
        gateway: '999.1.1.1',
        state: '<b>',
        detail: 'a\n\u001b[31m',
      },
      addresses: Array.from({ length: 5_000 }, () => ({ vmId: 'x'.repeat(100), mac: 'no', ip: 'no', source: 'no' })),
    }
    const found = { ...DROP, severity: 'kills', what: 'w'.repeat(10_000), rule: 'r\nr' }
    agent.report({
      networks: [liar, ...Array.from({ length: 100 }, (_, i) => ({ name: `n${i}` })), liar],
      networkFindings: [{ ...found, id: '' }, ...Array.from({ length: 100 }, (_, i) => ({ ...found, id: `f${i}` }))],
    })
    await expect.poll(async () => (await client.networks.listNetworks({})).networks.length).toBe(32)
    const { host } = await client.hosts.getHost({ host: 'rack' })
    const [first] = host?.networks ?? []
    expect(first).toMatchObject({ name: 'guests', kind: '', cidr: '', gateway: '', state: '' })
    expect(first?.detail).toBe('a  [31m')
    expect(first?.addresses).toHaveLength(4_096)
    expect(first?.addresses[0]).toMatchObject({ vmId: 'x'.repeat(64), vmName: '', mac: '', ip: '', source: '' })
    expect(host?.networkFindings).toHaveLength(20)
    expect(host?.networkFindings[0]).toMatchObject({ id: 'f0', severity: 'warns', what: 'w'.repeat(500), rule: 'r r' })
  })

  it('never gives the name of a VM to a host that it is not on', async () => {
    agent.report({ networks: [{ ...networks[1], addresses: [{ vmId: 'e'.repeat(32), mac: MAC, ip: '10.77.3.9' }] }] })
    await expect.poll(async () => (await client.networks.listNetworks({})).networks.length).toBe(1)
    expect((await client.networks.listNetworks({})).networks[0]?.addresses[0]).toMatchObject({ vmName: '' })
  })

  it('asks the host for its findings, mends one and takes it back, and leaves word in the trail', async () => {
    const host = new Host()
    agent.network = host
    const preflight = await eitri('network', 'preflight', 'rack')
    expect(preflight.code).toBe(0)
    expect(preflight.out).toContain(`forward-drop  blocks\n  ${DROP.what} ${DROP.effect}\n  Rule: ${DROP.rule}\n`)
    expect(preflight.out).toContain('eitri network mend rack forward-drop')
    expect(host.asked).toEqual(['check'])

    const mended = await eitri('network', 'mend', 'rack', '--json')
    expect(mended.json().findings[0]).toMatchObject({ id: 'forward-drop', mended: true })
    expect(host.asked).toEqual(['check', 'check', 'mend forward-drop'])
    expect((await eitri('network', 'mend', 'rack')).out).toContain('There is nothing to mend on rack.')

    const undone = await eitri('network', 'undo', 'rack', 'forward-drop')
    expect(undone.out).toContain('Undone: forward-drop.')
    expect(host.mended).toBe(false)
    expect((await eitri('network', 'undo', 'rack')).out).toContain('There is nothing to undo on rack.')

    const { entries } = await client.audit.listAudit({ host: 'rack' })
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['host.mend_network', 'host.undo_network_mend']),
    )
  })

  it('says why it could not be mended, in one sentence that names the host', async () => {
    agent.network = new Host()
    const refused = await eitri('network', 'mend', 'rack', 'mtu')
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('The finding mtu on rack cannot be mended (no mend). Nothing was changed.')
    expect((await eitri('network', 'mend', 'rack', 'x'.repeat(65))).code).toBe(2)
  })

  it('names a host whose agent is too old, or that does not answer', async () => {
    const faultOf = (call: Promise<unknown>) => call.then(() => undefined, fromConnectError)
    expect(await faultOf(client.networks.checkNetwork({ host: 'rack' }))).toMatchObject({ code: 'agent/version-skew' })
    await agent.stop()
    await expect
      .poll(async () => (await faultOf(client.networks.checkNetwork({ host: 'rack' })))?.code)
      .toBe('host/no-answer')
    expect(await faultOf(client.networks.listNetworks({ host: 'nobody' }))).toMatchObject({ code: 'host/not-found' })
  })
})
