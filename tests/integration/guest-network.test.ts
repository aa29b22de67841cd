import { existsSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { macOf } from '../../src/agent/network/mac.ts'
import { networkPlace } from '../../src/agent/network/network-place.ts'
import { tapName } from '../../src/agent/network/tap.ts'
import { type Failpoint, phasesOf } from '../../src/agent/os/failpoints.ts'
import { ROOT } from '../arch/source-files.ts'
import { AgentProcess, Session } from '../support/agent-process.ts'
import { GuestHost, HOST_ADDRESS } from '../support/guest-host.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'

const CIDR = '10.213.0.0/24'
const MENDED_MS = 60_000

const placeIn = async (space: NetNamespace) => networkPlace((await stat(`/run/netns/${space.name}`)).ino)

/** How many dnsmasq run in it, and how many tables are programmed. */
async function served(space: NetNamespace) {
  const pids = (await space.pids()).filter((pid) => nameOf(pid) === 'dnsmasq')
  const tables = await space.must(['nft', 'list', 'tables'])
  return { pids, rules: tables.split('\n').filter((line) => line === 'table ip eitri').length }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

async function eventually(what: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + MENDED_MS
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error('it did not come about in time')
    await delay(100)
  }
}

describe.skipIf(netNamespaceImpossible())('guests on a bridge of their host', () => {
  let host: GuestHost
  let client: NetNamespace
  let web: string
  let db: string

  beforeAll(async () => {
    host = await GuestHost.open({ flags: ['--bridge-cidr', CIDR] })
    web = await host.create('web')
    expect(await host.runningWith(web)).toBe('10.213.0.2')
    db = await host.create('db')
    expect(await host.runningWith(db)).toBe('10.213.0.3')
    await host.prompt(web)
    await host.prompt(db)
    client = await NetNamespace.make()
    await client.cable({ name: 'eth0' }, host.space, { name: 'client0', bridge: 'eitri0' })
  }, 120_000)
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]()
    await host?.[Symbol.asyncDispose]()
  })

  const dnsmasq = async () => readFileSync((await placeIn(host.space)).pidfile, 'utf8').trim()
  const rules = async () => (await host.space.run(['nft', 'list', 'table', 'ip', 'eitri'])).stdout

  it('have the addresses reserved for them', async () => {
    expect(await host.guest(web, 'ip -4 addr show eth0')).toContain('inet 10.213.0.2/24')
    expect(await host.guest(db, 'ip -4 addr show eth0')).toContain('inet 10.213.0.3/24')
    const network = await host.network()
    expect(network).toMatchObject({ kind: 'nat', bridge: 'eitri0', cidr: CIDR, gateway: '10.213.0.1', state: 'ready' })
    const addresses = network.addresses.map(({ vmId, ip, source }) => `${vmId} ${ip} ${source}`)
    expect(addresses.sort()).toEqual([`${web} 10.213.0.2 reservation`, `${db} 10.213.0.3 reservation`].sort())
  })

  it('reach out as their host, and each other as themselves', async () => {
    expect(await host.outsideCalls(web)).toBe(`you are ${HOST_ADDRESS}`)
    expect(await host.guest(web, 'ping -c 1 -W 5 10.213.0.3')).toContain('1 packets received')
  })

  it('know each other by name, whichever server they ask', async () => {
    expect(await host.guest(web, 'nslookup db.eitri.internal')).toContain('10.213.0.3')
    expect(await host.guest(web, 'ping -c 1 -W 5 db')).toContain('1 packets received')
    expect(await host.guest(web, 'nslookup db.eitri.internal 203.0.113.53')).toContain('10.213.0.3')
  })

  it('are the only ones who get an address', async () => {
    const asks = ['busybox', 'udhcpc', '-i', 'eth0', '-n', '-q', '-f', '-t', '3', '-T', '1', '-s', '/bin/true']
    expect((await client.run(asks)).code).toBe(1)
    await client.ip('link', 'set', 'eth0', 'address', macOf(db))
    expect(await client.run(asks)).toMatchObject({ code: 0, stderr: expect.stringContaining('10.213.0.3') })
    await client.ip('link', 'set', 'eth0', 'down')
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'keep address, names and way out over an agent ended by %s',
    async (signal) => {
      const server = await dnsmasq()
      await host.end(signal)
      expect(await host.space.run(['busybox', 'nslookup', 'db.eitri.internal', '10.213.0.1'])).toMatchObject({
        code: 0,
      })
      await host.start()
      expect(await host.runningWith(web)).toBe('10.213.0.2')
      expect(await host.runningWith(db)).toBe('10.213.0.3')
      expect(await dnsmasq()).toBe(server)
      expect(await host.outsideCalls(web)).toBe(`you are ${HOST_ADDRESS}`)
    },
  )

  it('get back what somebody takes from them: rules, dnsmasq, the bridge itself', async () => {
    const before = await rules()
    await host.space.must(['nft', 'flush', 'ruleset'])
    await eventually(async () => (await rules()) === before)
    const server = await dnsmasq()
    process.kill(Number(server), 'SIGKILL')
    await eventually(async () => (await dnsmasq()) !== server)
    await host.space.ip('link', 'delete', 'eitri0')
    await eventually(async () => (await host.space.ip('link', 'show')).includes('master eitri0'))
    expect(await host.outsideCalls(web)).toBe(`you are ${HOST_ADDRESS}`)
    expect(await host.guest(web, 'nslookup db.eitri.internal')).toContain('10.213.0.3')
  })

  it('give their own address back when they are deleted, and it serves the next', async () => {
    await host.purge(db)
    expect(await host.space.ip('link', 'show')).not.toContain(tapName(db))
    const next = await host.create('next')
    expect(await host.runningWith(next)).toBe('10.213.0.3')
    await host.prompt(next)
    expect(await host.guest(next, 'ip -4 addr show eth0')).toContain('inet 10.213.0.3/24')
    expect(await host.guest(web, 'nslookup db.eitri.internal')).not.toContain('10.213.0.3')
  })

  it('have the command line that is shown for their next start', async () => {
    const entry = new URL('../../src/agent/index.ts', import.meta.url).pathname
    const flags = ['--json', '--state-dir', host.agent.stateDir, '--socket', host.agent.socketPath]
    const shown = await host.space.must([process.execPath, entry, 'show-command', web, ...flags])
    expect(shown).toContain(`tap,id=net0,ifname=${tapName(web)},script=no,downscript=no`)
    expect(shown).not.toMatch(/"where": ?"(next|running)"/)
  })

  it('are left alone by a second agent, whose own guests stay in user mode', async () => {
    await using second = new AgentProcess({ namespace: host.space, flags: ['--bridge-cidr', '10.214.0.0/24'] })
    await second.start()
    using session = await Session.open(second.socketPath)
    const { networks, notices } = await session.report(({ networks }) => networks.length > 0)
    const because = `Another agent of this host (process ${host.agent.pid}) owns the bridge of its guests.`
    expect(networks).toMatchObject([{ kind: 'user', state: 'ready', detail: expect.stringContaining(because) }])
    expect(notices.join()).toContain(because)
    expect(await rules()).toContain(CIDR)
  })
})

describe.skipIf(netNamespaceImpossible())('the network an agent makes for guests', () => {
  it('is there as soon as the control plane names one, without a new start', async () => {
    await using host = await GuestHost.open()
    expect(await host.network()).toMatchObject({ kind: 'user', bridge: '', detail: expect.stringContaining('yet') })
    const early = await host.create('early')
    expect(await host.runningWith(early)).toBe('')
    const hello = await host.attach({ suggestedGuestCidr: CIDR })
    expect(hello.capabilities?.addressSource).toBe('reservation')
    expect(await host.network()).toMatchObject({ kind: 'nat', bridge: 'eitri0', cidr: CIDR, state: 'ready' })
    host.change(early, { restartCount: 1n })
    await host.report(({ vms }) => vms.some(({ ip }) => ip === '10.213.0.2'))
  })

  it('is taken away by uninstall, and the host is as it was', async () => {
    await using space = await NetNamespace.make()
    const seen = async () => {
      const ruleset = await space.must(['nft', 'list', 'ruleset'])
      return [ruleset, await space.ip('-o', 'link', 'show'), await space.sysctl('net.ipv4.ip_forward')]
    }
    const before = await seen()
    await using agent = new AgentProcess({ namespace: space, flags: ['--bridge-cidr', CIDR] })
    await agent.start()
    expect(await space.sysctl('net.ipv4.ip_forward')).toBe('1')
    await agent.end('SIGTERM')
    const uninstall = `import { removeOwnNetwork } from '${join(ROOT, 'src/agent/network/remove-network.ts')}'
import { run } from '${join(ROOT, 'src/agent/os/exec.ts')}'
process.stdout.write(JSON.stringify(await removeOwnNetwork(run, process.argv[1], false)))`
    const node = [process.execPath, '--input-type=module-typescript', '-e', uninstall, agent.stateDir]
    const gone = [
      'dnsmasq of the guests',
      'nft table ip eitri',
      'nft table bridge eitri_guests',
      'bridge eitri0',
      'net.ipv4.ip_forward=1',
    ]
    expect(JSON.parse(await space.must(node))).toEqual({ removed: gone, left: [] })
    expect(await seen()).toEqual(before)
    expect(await space.pids()).toEqual([])
    expect(existsSync((await placeIn(space)).dir)).toBe(false)
    expect(JSON.parse(await space.must(node))).toEqual({ removed: [], left: [] })
  })

  const STARTS = ['dir', 'note', 'sysctl', 'ask-bridge', 'bridge', 'rules', 'load', 'config', 'dnsmasq', 'reload']
  it.each(STARTS)('is whole after a life that was cut at network.%s', async (name) => {
    await using space = await NetNamespace.make()
    const point = `network.${name}` as Failpoint
    const phase = phasesOf(point).includes('between') ? 'between' : 'before'
    const options = { namespace: space, flags: ['--bridge-cidr', CIDR] }
    await using agent = new AgentProcess({ ...options, env: { EITRI_FAILPOINT: `${point}:${phase}` } })
    await expect(agent.start()).rejects.toThrow('the agent ended')
    await using next = new AgentProcess(options)
    await next.start()
    using session = await Session.open(next.socketPath)
    const { networks } = await session.report(({ networks }) => networks.length > 0)
    expect(networks).toMatchObject([{ kind: 'nat', state: 'ready' }])
    const { pids, rules } = await served(space)
    expect([pids.length, rules]).toEqual([1, 1])
  })

  it('gives a VM its address, and takes it back, whenever its agent dies at it', async () => {
    await using host = await GuestHost.open({ flags: ['--bridge-cidr', CIDR] })
    const cut = async (point: Failpoint, work: () => Promise<unknown>) => {
      await host.end('SIGTERM')
      host.agent.env = { EITRI_FAILPOINT: `${point}:between` }
      await host.start()
      const died = host.agent.died
      await work()
      await died
      host.agent.env = {}
      await host.start()
    }
    let vm = ''
    await cut('network.hosts', async () => {
      vm = await host.create('web')
    })
    expect(await host.runningWith(vm)).toBe('10.213.0.2')
    await host.prompt(vm)
    await cut('network.leases', async () => host.tombstone(vm))
    await host.gone(vm)
    expect(await host.space.ip('link', 'show')).not.toContain(tapName(vm))
    await cut('tap.join', async () => {
      vm = await host.create('db')
    })
    expect(await host.runningWith(vm)).toBe('10.213.0.2')
    await host.prompt(vm)
    expect(await host.guest(vm, 'ip -4 addr show eth0')).toContain('inet 10.213.0.2/24')
  })

  it('is none where a part is missing, and the agent says which', async () => {
    await using space = await NetNamespace.make()
    const hidden = 'mount --bind /dev/null "$(command -v dnsmasq)" && exec "$@"'
    const namespace = { enter: (...argv: string[]) => space.enter('unshare', '-m', 'sh', '-c', hidden, 'sh', ...argv) }
    await using agent = new AgentProcess({ namespace, flags: ['--bridge-cidr', CIDR] })
    await agent.start()
    using session = await Session.open(agent.socketPath)
    const { networks, notices } = await session.report(({ networks }) => networks.length > 0)
    expect(networks).toMatchObject([
      { kind: 'user', detail: expect.stringContaining('This host lacks dnsmasq: install it for a bridge of guests.') },
    ])
    expect(notices.join()).toContain('This host lacks dnsmasq')
    expect(session.hello.facts?.missing).toEqual(['dnsmasq'])
    expect(await space.ip('link', 'show')).not.toContain('eitri0')
  })
})
