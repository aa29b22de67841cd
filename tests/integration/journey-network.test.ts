import net from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { addHost } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'

const STEP_MS = 60_000

/** What whoever listens there says first. */
function greeting(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, host)
    socket.setTimeout(10_000, () => socket.destroy(new Error('it says nothing')))
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1'))
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

describeHosts('a host whose network the agent may make, from the command line', { timeout: STEP_MS }, () => {
  let host: SshHost
  let desktop: Desktop
  let published: any
  const networks = async () => (await desktop.must(['network', 'list', 'rack1'])).networks
  beforeAll(async () => {
    host = await startSshHost({ name: 'rack1', variant: 'managed' })
    desktop = await new Desktop().start()
  }, 30_000)
  afterAll(async () => {
    await desktop?.close()
    await host?.close()
  }, 30_000)

  it('gets a bridge of its own with a network that nothing there uses', async () => {
    await addHost(desktop, host)
    await expect
      .poll(networks, { timeout: 30_000 })
      .toEqual([expect.objectContaining({ name: 'guests', kind: 'nat', bridge: 'eitri0', state: 'ready' })])
    const [guests] = await networks()
    expect(await host.must(['ip', '-4', '-o', 'address', 'show', 'dev', 'eitri0'])).toContain(`${guests.gateway}/`)
    expect((await desktop.must(['network', 'preflight', 'rack1'])).findings).toEqual([])
  })

  it('a VM there has an address that its host can reach', async () => {
    await desktop.buildTiny()
    await desktop.must(['vm', 'create', 'web1', '--wait', 'ready'], { timeoutMs: 120_000 })
    await desktop.must(['vm', 'wait', 'web1', '--console', 'web1:~#', '--timeout', '60s'], { timeoutMs: 70_000 })
    await desktop.must(['vm', 'wait', 'web1', '--address', '--timeout', '20s'])
    const { ip } = await desktop.must(['vm', 'show', 'web1'])
    const [{ cidr, addresses }] = await networks()
    expect(ip.split('.').slice(0, 3)).toEqual(cidr.split('.').slice(0, 3))
    expect(addresses).toEqual([expect.objectContaining({ vm_name: 'web1', ip, source: 'reservation' })])
    await expect
      .poll(async () => (await host.exec(['busybox', 'ping', '-c', '1', '-W', '1', ip])).code, { timeout: 20_000 })
      .toBe(0)
  }, 200_000)

  it('its published port is reached from another machine, and is gone when it is taken back', async () => {
    published = await desktop.must(['port', 'publish', 'web1', '22'])
    const state = async () => (await desktop.must(['port', 'list', '--vm', 'web1'])).ports[0]
    await expect.poll(async () => (await state()).state, { timeout: 20_000 }).toBe('listening')
    await expect
      .poll(() => greeting(host.address, published.host_port).catch(String), { timeout: 30_000 })
      .toMatch(/^SSH-2\.0/)
    await desktop.must(['port', 'unpublish', published.id])
    await expect
      .poll(() => greeting(host.address, published.host_port).catch((error) => error.code), { timeout: 20_000 })
      .toBe('ECONNREFUSED')
  })

  it('uninstalling leaves no bridge, no rules and no server behind', async () => {
    await desktop.must(['vm', 'delete', 'web1'])
    await desktop.must(['vm', 'purge', 'web1', '--yes'])
    const gone = async () => (await desktop.must(['vm', 'list'])).vms.length
    await expect.poll(gone, { timeout: 30_000 }).toBe(0)
    await desktop.must(['host', 'remove', 'rack1', '--uninstall'], { timeoutMs: 60_000 })
    expect((await host.exec(['ip', 'link', 'show', 'eitri0'])).code).not.toBe(0)
    expect(await host.must(['nft', 'list', 'ruleset'])).not.toContain('eitri')
    expect(host.listProcesses().filter(({ argv }) => /dnsmasq|eitri-agent/.test(argv[0] ?? ''))).toEqual([])
  })
})
