import { describe, expect, it } from 'vitest'
import { HostNetworks, type HostNetworksDeps, type OperatorNets } from '../../../../src/agent/network/host-networks.ts'
import { macOf } from '../../../../src/agent/network/mac.ts'
import type { Ownership } from '../../../../src/agent/network/network-owner.ts'
import { tapName } from '../../../../src/agent/network/tap.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const ID = 'a'.repeat(32)
const signal = AbortSignal.timeout(10_000)
const vm = (network = '') => ({ vmId: ID, name: 'web', network })
const never = async () => {
  throw new Error('nothing of the host is touched')
}

/** What every call of a network of the operator left. */
class OneNetwork implements OperatorNets {
  readonly calls: string[] = []
  async start() {
    this.calls.push('start')
  }
  serves = (network: string) => network === 'lan'
  async attach() {
    this.calls.push('attach')
    return this.look()
  }
  look = () => ({ mac: macOf(ID, 1), tap: tapName(ID, 1) })
  async detach() {
    this.calls.push('detach')
  }
  networkAddress = () => '192.168.1.20'
  status = () => [{ name: 'lan', kind: 'operator', state: 'ready' }]
  notices = () => ['The bridge of lan is down.']
  async close() {
    this.calls.push('close')
  }
}

function networks(change: Partial<HostNetworksDeps> = {}, owned: Partial<Ownership> = {}) {
  const removed: string[] = []
  const facts = { asked: 'auto', root: false, holder: '', missing: [] } as const
  const ownership = {
    owns: false,
    because: '',
    asked: 'auto',
    facts,
    place: undefined,
    missing: async () => [],
    release: async () => {},
  } as const
  const made = new HostNetworks({
    platform: 'linux',
    stateDir: '/state',
    ownership: { ...ownership, ...owned },
    cidr: () => '10.77.0.0/24',
    taps: { ensure: never, remove: async (name) => void removed.push(name) },
    run: never,
    detach: never,
    processes: linuxProcesses(),
    sysctl: { read: never, write: never },
    hasDevice: () => false,
    clock: systemClock,
    log: silentLog,
    ...change,
  })
  return { made, removed }
}

describe('networks of a host whose agent may not touch them', () => {
  it('are translation inside each hypervisor, with what that cannot do', async () => {
    const { made, removed } = networks()
    await made.start([{ ...vm(), ip: '10.77.0.9', networkIp: '' }])
    expect(made.look(vm())).toEqual([{ mac: macOf(ID) }])
    expect(await made.attach(vm(), signal)).toEqual([{ mac: macOf(ID) }])
    expect([made.address(ID), made.networkAddress(ID), made.reserves]).toEqual(['', '', false])
    const detail = expect.stringMatching(/^The agent does not run as root.*none reaches another/)
    const addresses = [{ vmId: ID, mac: macOf(ID) }]
    expect(made.status()).toEqual([{ name: 'guests', kind: 'user', state: 'ready', detail, addresses }])
    expect(made.notices()).toEqual([detail])
    await made.detach(ID)
    expect([removed, made.status()[0]!.addresses]).toEqual([[], []])
  })

  it('say nothing more when a person chose so, or nothing is settled yet', async () => {
    const asked = { asked: 'user', root: true, holder: '', missing: [] } as const
    const chosen = networks({}, { asked: 'user', facts: asked }).made
    const early = networks({ cidr: () => '' }).made
    for (const made of [chosen, early]) {
      await made.start([])
      expect(made.notices()).toEqual([])
      expect(made.status()).toMatchObject([{ kind: 'user' }])
    }
  })

  it('are the system’s own on macOS', async () => {
    const { made } = networks({ platform: 'darwin' })
    await made.start([])
    expect(made.status()).toEqual([{ name: 'guests', kind: 'system', state: 'ready' }])
    expect(made.notices()).toEqual([])
  })

  it('refuse a network nobody serves before anything is made, for good', async () => {
    const operator = new OneNetwork()
    const unknown = {
      code: 'vm/network-unknown',
      disposition: 'permanent',
      params: { host: 'This host', network: 'dmz' },
    }
    for (const { made } of [networks(), networks({ operator })]) {
      expect(() => made.look(vm('dmz'))).toThrow(expect.objectContaining(unknown))
      await expect(made.attach(vm('dmz'), signal)).rejects.toMatchObject(unknown)
    }
    expect(operator.calls).toEqual([])
  })
})

describe('a network of the operator', () => {
  it('is a second NIC beside the first, and goes with the VM', async () => {
    const operator = new OneNetwork()
    const { made, removed } = networks({ operator }, { owns: true })
    await made.start([])
    const nics = [{ mac: macOf(ID) }, { mac: macOf(ID, 1), tap: tapName(ID, 1) }]
    expect(made.look(vm('lan'))).toEqual(nics)
    expect(await made.attach(vm('lan'), signal)).toEqual(nics)
    expect(await made.attach(vm(), signal)).toHaveLength(1)
    expect(made.networkAddress(ID)).toBe('192.168.1.20')
    expect(made.status().map(({ name }) => name)).toEqual(['guests', 'lan'])
    expect(made.notices()).toContain('The bridge of lan is down.')
    await made.detach(ID)
    await made.close()
    expect([operator.calls, removed]).toEqual([['start', 'attach', 'detach', 'close'], [tapName(ID)]])
  })
})
