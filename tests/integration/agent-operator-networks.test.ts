import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { macOf } from '../../src/agent/network/mac.ts'
import { tapName } from '../../src/agent/network/tap.ts'
import type { NetworkStatus } from '../../src/ipc/gen/eitri/agent/v1/network_pb.js'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { dhcpServer } from '../support/dhcp.ts'
import { GuestHost } from '../support/guest-host.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'

const OWN = ['--bridge-cidr', '10.214.0.0/24']
const FLAGS = [...OWN, '--host-network', 'lan=br-lan']
const ROGUE = `printf 'start 10.66.0.50\\nend 10.66.0.59\\ninterface eth1\\nlease_file /tmp/leases\\n' >/tmp/dhcpd.conf; touch /tmp/leases; ip addr add 10.66.0.1/24 dev eth1; udhcpd /tmp/dhcpd.conf; echo started $?`

describe.skipIf(netNamespaceImpossible())('guests on a network of the operator', { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-lan-'))
  let host: GuestHost
  /** The other host of the operator's network, with its DHCP server. */
  let lan: NetNamespace
  let web: string
  let db: string
  let webIp: string
  let dbIp: string

  const rowOf = ({ vms }: Report, vmId: string) => vms.find((vm) => vm.vmId === vmId)
  const lanIp = (vmId: string) =>
    host
      .report((report) => (rowOf(report, vmId)?.networkIp ?? '') !== '')
      .then((report) => rowOf(report, vmId)!.networkIp)
  const network = async (want: (row: NetworkStatus) => boolean) => {
    const { networks } = await host.report(({ networks }) => networks.some((row) => row.name === 'lan' && want(row)))
    return networks.find(({ name }) => name === 'lan')!
  }
  const table = async () => (await host.space.run(['nft', 'list', 'table', 'bridge', 'eitri'])).stdout
  const learnsOf = async () =>
    [...(/set nics \{[^}]*elements = \{([^}]*)/.exec(await table())?.[1] ?? '').matchAll(/"(eil-\w+)"/g)].map(
      ([, tap]) => tap,
    )
  const leases = () => readFileSync(join(dir, `${lan.name}.leases`), 'utf8')

  beforeAll(async () => {
    host = await GuestHost.open({ flags: FLAGS, start: false })
    lan = await NetNamespace.make()
  })
  afterAll(async () => {
    await host?.[Symbol.asyncDispose]()
    await lan?.[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true, force: true })
  })

  it('have no agent while the bridge is not there, or is none', async () => {
    await expect(host.agent.start()).rejects.toThrow(
      '--host-network "lan=br-lan" is not valid: this host has no bridge br-lan',
    )
    host.agent.flags = [...OWN, '--host-network', 'lan=lo']
    await expect(host.agent.start()).rejects.toThrow('--host-network "lan=lo" is not valid: lo is no bridge')
    host.agent.flags = FLAGS
  })

  it('get an address of its own DHCP server, which is told with the time', async () => {
    await host.space.bridge('br-lan')
    await host.space.cable({ name: 'lan0', bridge: 'br-lan' }, lan, { name: 'eth0', addresses: ['10.9.0.1/24'] })
    await dhcpServer(lan, { device: 'eth0', range: '10.9.0.50,10.9.0.99', dir })
    await host.start()
    const before = Date.now()
    web = await host.create('web', { network: 'lan' })
    db = await host.create('db', { network: 'lan' })
    webIp = await lanIp(web)
    dbIp = await lanIp(db)
    for (const [vmId, ip] of [
      [web, webIp],
      [db, dbIp],
    ] as const) {
      expect(leases()).toMatch(new RegExp(`${macOf(vmId, 1)} ${ip} `))
      expect(await host.guest(vmId, 'ip -4 addr show eth1')).toContain(`inet ${ip}/24`)
      expect(await host.guest(vmId, 'ip route show default')).toMatch(/^default via 10\.214\.0\.1 dev eth0/)
      expect(await lan.run(['busybox', 'ping', '-c', '1', '-W', '5', ip])).toMatchObject({ code: 0 })
    }
    const { kind, bridge, state, addresses } = await network(({ addresses }) => addresses.every(({ ip }) => ip !== ''))
    expect({ kind, bridge, state }).toEqual({ kind: 'operator', bridge: 'br-lan', state: 'ready' })
    const row = addresses.find(({ vmId }) => vmId === web)!
    expect(row).toMatchObject({ mac: macOf(web, 1), ip: webIp, source: 'dhcp' })
    expect(Number(row.seenAt!.seconds) * 1_000).toBeGreaterThan(before - 2_000)
  })

  it('cannot answer as DHCP servers: the neighbour keeps its lease from the real one, and the guest is named', async () => {
    expect(await host.guest(web, ROGUE)).toContain('started 0')
    const again = 'udhcpc -i eth1 -n -q -f -t 10 -T 1 -s /bin/true 2>&1'
    expect(await host.guest(db, again)).toContain(`lease of ${dbIp} obtained from 10.9.0.1`)
    const dropped = async () => Number(/packets (\d+)/.exec(await table())![1])
    await expect.poll(dropped, { timeout: 30_000 }).toBeGreaterThan(0)
    const { notices } = await host.report(({ notices }) => notices.some((text) => text.includes('DHCP server')))
    expect(notices).toEqual([expect.stringMatching(/^web answers as a DHCP server on the network lan: .*dropped/)])
    expect(await host.guest(web, 'killall udhcpd; echo $?')).toBe('0')
    expect(await lanIp(db)).toBe(dbIp)
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)('keep their addresses over an agent ended by %s', async (signal) => {
    await host.end(signal)
    await host.start()
    const report = await host.report(({ vms }) => vms.length === 2)
    expect([web, db].map((vmId) => rowOf(report, vmId)?.networkIp)).toEqual([webIp, dbIp])
    expect((await learnsOf()).toSorted()).toEqual([web, db].map((vmId) => tapName(vmId, 1)).toSorted())
  })

  it('go on when their agent no longer serves it: that is said, and their next start is refused', async () => {
    await host.end('SIGTERM')
    host.agent.flags = OWN
    await host.start()
    const { notices, ...report } = await host.report(({ vms }) => vms.length === 2)
    expect(rowOf(report as Report, web)?.networkIp).toBe(webIp)
    expect(notices).toContainEqual(
      expect.stringMatching(/^The agent no longer serves the network lan .*keeps its address/),
    )
    expect(await lan.run(['busybox', 'ping', '-c', '1', '-W', '5', webIp])).toMatchObject({ code: 0 })
    expect(await network(() => true)).toMatchObject({ bridge: 'br-lan', state: 'degraded' })
    host.change(web, { powerState: 'stopped' })
    await host.report((all) => rowOf(all, web)?.power === 'stopped')
    host.change(web, { powerState: 'running' })
    const refused = await host.report((all) => rowOf(all, web)?.reason === 'vm/network-unknown')
    expect(rowOf(refused, web)).toMatchObject({ power: 'stopped', networkIp: webIp })
  })

  it('start again once it is served again, and get the same address', async () => {
    await host.end('SIGTERM')
    host.agent.flags = FLAGS
    await host.start()
    await host.report((all) => rowOf(all, web)?.power === 'running')
    await network(({ addresses }) => addresses.some(({ vmId, seenAt }) => vmId === web && seenAt !== undefined))
    expect(await lanIp(web)).toBe(webIp)
  })

  it('leave nothing of themselves there when they are deleted, and of others all', async () => {
    await host.purge(web)
    expect(await host.space.ip('-o', 'link', 'show', 'master', 'br-lan')).not.toContain(tapName(web, 1))
    expect(await learnsOf()).toEqual([tapName(db, 1)])
    const { addresses } = await network(() => true)
    expect(addresses.map(({ vmId, ip }) => [vmId, ip])).toEqual([[db, dbIp]])
    expect(await host.space.ip('-o', 'link', 'show', 'master', 'br-lan')).toContain(tapName(db, 1))
    await host.purge(db)
    await host.end('SIGTERM')
    host.agent.flags = OWN
    await host.start()
    expect(await table()).toBe('')
  })
})
