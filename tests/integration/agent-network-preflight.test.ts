import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { judgeNetwork } from '../../src/agent/network/network-findings.ts'
import { lookAtNetwork } from '../../src/agent/network/preflight.ts'
import type { NetworkFinding } from '../../src/ipc/gen/eitri/agent/v1/network_pb.js'
import { freeGuestCidrs } from '../../src/main/control/sync/guest-cidr.ts'
import { AgentProcess } from '../support/agent-process.ts'
import { attached, wireClient } from '../support/agent-wire.ts'
import { GuestHost, OUTSIDE_ADDRESS } from '../support/guest-host.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'
import { aHost } from '../unit/main/control/a-store.ts'

const CIDR = '10.200.0.0/24'

/** What a container engine makes at each of its starts, chains and all. */
const ENGINE = `
table ip filter {
  chain DOCKER { }
  chain DOCKER-USER { counter return
  }
  chain FORWARD { type filter hook forward priority filter; policy drop;
    counter jump DOCKER-USER
    oifname "docker0" ct state established,related counter accept
    oifname "docker0" counter jump DOCKER
    iifname "docker0" oifname != "docker0" counter accept
  }
}
`

async function startEngine(host: NetNamespace): Promise<void> {
  await host.run(['nft', 'delete', 'table', 'ip', 'filter'])
  await host.must(['nft', '-f', '-'], { input: ENGINE })
}

/** One attached control plane that asks for the network. */
class Asking implements Disposable {
  readonly #link: ReturnType<typeof wireClient>
  readonly #sessionId: string

  private constructor(link: ReturnType<typeof wireClient>, sessionId: string) {
    this.#link = link
    this.#sessionId = sessionId
  }
  static async open(agent: AgentProcess): Promise<Asking> {
    const link = wireClient(agent.socketPath)
    return new Asking(link, (await attached(link.client)).sessionId)
  }
  async check(): Promise<NetworkFinding[]> {
    return (await this.#link.client.checkNetwork({ sessionId: this.#sessionId })).findings
  }
  async mend(findingId: string, undo = false): Promise<NetworkFinding[]> {
    return (await this.#link.client.mendNetwork({ sessionId: this.#sessionId, findingId, undo })).findings
  }
  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]()
  }
}

describe.skipIf(netNamespaceImpossible())('a host whose container engine drops what it forwards', () => {
  let host: NetNamespace
  let guest: NetNamespace
  let outside: NetNamespace
  let agent: AgentProcess

  beforeEach(async () => {
    host = await NetNamespace.make()
    guest = await NetNamespace.make()
    outside = await NetNamespace.make()
    await host.cable({ name: 'up0', addresses: ['192.0.2.2/24'] }, outside, {
      name: 'eth0',
      addresses: ['192.0.2.1/24'],
    })
    await host.ip('route', 'add', 'default', 'via', '192.0.2.1')
    await outside.ip('route', 'add', CIDR, 'via', '192.0.2.2')
    agent = new AgentProcess({ namespace: host, flags: ['--bridge-cidr', CIDR] })
    await agent.start()
    await host.cable({ name: 'tap0', bridge: 'eitri0' }, guest, { name: 'eth0', addresses: ['10.200.0.21/24'] })
    await guest.ip('route', 'add', 'default', 'via', '10.200.0.1')
  })
  afterEach(async () => {
    await agent[Symbol.asyncDispose]()
    for (const space of [host, guest, outside]) await space[Symbol.asyncDispose]()
    rmSync(agent.dir, { recursive: true, force: true })
  })

  const engineRules = () => host.must(['nft', '-s', 'list', 'table', 'ip', 'filter'])
  const egress = async () => (await guest.run(['busybox', 'ping', '-c', '1', '-W', '1', '192.0.2.1'])).code === 0

  it('is told of the very chain, mended, mended again when the engine starts anew, and left as it was', {
    timeout: 60_000,
  }, async () => {
    await expect.poll(egress, { timeout: 20_000 }).toBe(true)
    using asking = await Asking.open(agent)
    expect((await asking.check()).filter(({ severity }) => severity === 'blocks')).toEqual([])
    await startEngine(host)
    const before = await engineRules()
    expect(await egress()).toBe(false)

    const [found] = await asking.check()
    expect(found).toMatchObject({
      id: 'forward-drop',
      severity: 'blocks',
      what: expect.stringContaining('Chain FORWARD of table ip filter'),
      rule: 'chain FORWARD { type filter hook forward priority filter; policy drop; }',
      mend: expect.stringContaining('DOCKER-USER'),
      mended: false,
    })

    expect(await asking.mend('forward-drop')).toContainEqual(
      expect.objectContaining({ id: 'forward-drop', mended: true }),
    )
    expect(await egress()).toBe(true)
    const mended = await engineRules()
    await asking.mend('forward-drop')
    expect(await engineRules()).toBe(mended)

    await startEngine(host)
    expect((await asking.check())[0]).toMatchObject({ id: 'forward-drop', mended: false })
    await agent.end('SIGKILL')
    await agent.start()
    await expect.poll(egress, { timeout: 20_000 }).toBe(true)
    expect(await engineRules()).toBe(mended)
    using again = await Asking.open(agent)
    expect((await again.check())[0]).toMatchObject({ id: 'forward-drop', mended: true })
    expect((await again.mend('forward-drop', true))[0]).toMatchObject({ id: 'forward-drop', mended: false })
    expect(await engineRules()).toBe(before)
    await again.mend('forward-drop', true)
    expect(await engineRules()).toBe(before)
    expect(await egress()).toBe(false)

    await again.mend('forward-drop')
    expect(await engineRules()).toBe(mended)
    const uninstall = ['uninstall', '--user', '--state-dir', agent.stateDir, '--socket', agent.socketPath, '--json']
    const argv = ['env', `HOME=${agent.dir}`, process.execPath, 'src/agent/index.ts', ...uninstall]
    expect(JSON.parse(await host.must(argv)).removed).toContain('the mend of forward-drop')
    expect(await host.must(['nft', 'list', 'table', 'ip', 'filter'])).not.toContain('eitri')
  })

  it('has its forwarding turned on, and off again by an undo', async () => {
    using asking = await Asking.open(agent)
    await host.sysctl('net.ipv4.ip_forward', 0)
    const [found] = await asking.check()
    expect(found).toMatchObject({ id: 'forwarding-off', severity: 'blocks', mended: false })
    expect(await egress()).toBe(false)
    expect((await asking.mend('forwarding-off'))[0]).toMatchObject({ id: 'forwarding-off', mended: true })
    expect(await egress()).toBe(true)
    expect((await asking.mend('forwarding-off', true))[0]).toMatchObject({ id: 'forwarding-off', mended: false })
    expect(await egress()).toBe(false)
  })

  it('says what it cannot mend, and that a name is no finding', async () => {
    using asking = await Asking.open(agent)
    await host.bridge('vpn0', '10.200.0.129/25')
    expect(await asking.check()).toContainEqual(
      expect.objectContaining({
        id: 'overlapping-route',
        severity: 'blocks',
        rule: expect.stringContaining('dev vpn0'),
        mend: '',
      }),
    )
    await expect(asking.mend('overlapping-route')).rejects.toThrow('the agent has no mend for it')
    await expect(asking.mend('nothing')).rejects.toThrow('nothing of that name is wrong')
    expect(await asking.mend('nothing', true)).toEqual(await asking.check())
  })
})

describe.skipIf(netNamespaceImpossible())('a tiny guest behind a container engine', () => {
  it('gets out again by the mend, and not before it', { timeout: 120_000 }, async () => {
    await using host = await GuestHost.open({ flags: ['--bridge-cidr', CIDR] })
    const vm = await host.create('web')
    await host.runningWith(vm)
    await host.prompt(vm)
    const out = () => host.guest(vm, `nc -w 2 ${OUTSIDE_ADDRESS} 80 </dev/null`)
    expect(await out()).toContain('you are')
    await startEngine(host.space)
    expect(await out()).not.toContain('you are')
    {
      using asking = await Asking.open(host.agent)
      expect(await asking.mend('forward-drop')).toContainEqual(expect.objectContaining({ mended: true }))
    }
    await host.attach()
    expect(await out()).toContain('you are')
  })
})

describe.skipIf(netNamespaceImpossible())('a host with a VPN to all of 10.0.0.0/8', () => {
  it('has its guests in another network that the control plane suggested beside the first', async () => {
    await using host = await NetNamespace.make()
    await host.bridge('vpn0', '10.1.2.3/8')
    await using agent = new AgentProcess({ namespace: host })
    await agent.start()
    using link = wireClient(agent.socketPath)
    const row = { ...aHost(), guestCidr: '', uplinkAddress: '' }
    const [suggestedGuestCidr = '', ...otherGuestCidrs] = freeGuestCidrs(row, [])
    expect(suggestedGuestCidr).toMatch(/^10\./)
    const { sync } = await attached(link.client, { suggestedGuestCidr, otherGuestCidrs })
    const { guestCidr } = await sync.until('report')
    expect(guestCidr).toMatch(/^172\.16\./)
    expect(await host.ip('addr', 'show', 'dev', 'eitri0')).toContain(guestCidr.replace('.0/24', '.1/24'))
  })
})

describe('a look at a host whose programs fail', () => {
  it('is an answer all the same, with what could not be read in it', async () => {
    const at = { bridge: 'eitri0', guestCidr: '', operatorBridges: [] }
    const failing = [
      { code: 1, stdout: '', stderr: 'Operation not permitted\n', timedOut: false },
      { code: null, stdout: '', stderr: '', timedOut: true },
      { code: 0, stdout: 'no JSON', stderr: '', timedOut: false },
    ]
    for (const result of failing) {
      const look = await lookAtNetwork(async () => result, at)
      expect(judgeNetwork(look)).toContainEqual(
        expect.objectContaining({ id: 'filters-unreadable', what: expect.stringMatching(/could not be read: .+\./) }),
      )
    }
    const look = await lookAtNetwork(() => Promise.reject(new Error('spawn nft EAGAIN')), at)
    expect(judgeNetwork(look)).toContainEqual(expect.objectContaining({ id: 'filters-unreadable' }))
  })
})
