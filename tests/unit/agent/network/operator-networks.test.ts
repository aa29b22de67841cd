import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Ack, GuardLook, LanNic } from '../../../../src/agent/network/bridge-guard.ts'
import { requireBridges } from '../../../../src/agent/network/host-bridges.ts'
import { macOf } from '../../../../src/agent/network/mac.ts'
import { OperatorNetworks } from '../../../../src/agent/network/operator-networks.ts'
import { tapName } from '../../../../src/agent/network/tap.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { SteppedClock } from '../../../support/stepped-clock.ts'

const WEB = { vmId: 'a'.repeat(32), name: 'web-1', network: 'lan' }
const DB = { vmId: 'b'.repeat(32), name: 'db-1', network: 'lan' }
const nicOf = ({ vmId }: { vmId: string }) => ({ mac: macOf(vmId, 1), tap: tapName(vmId, 1) })
const live = () => AbortSignal.timeout(10_000)

let sys: string
beforeEach(() => {
  sys = mkdtempSync(join(tmpdir(), 'eitri-sys-'))
  for (const device of ['br0/bridge', 'br1/bridge', 'lo']) mkdirSync(join(sys, device), { recursive: true })
  writeFileSync(join(sys, 'br-file'), '')
})
afterEach(() => rmSync(sys, { recursive: true, force: true }))

/** The kernel's table, and devices as directories. */
class Host {
  /** Undefined = there is no table. */
  table: readonly LanNic[] | undefined
  acks: Ack[] = []
  rogues: string[] = []
  dropped = 0
  readonly done: string[] = []
  fail: Error | undefined
  /** Awaited in the middle of each call at the table. */
  meanwhile: () => Promise<unknown> = async () => {}

  readonly guard = {
    program: async (nics: readonly LanNic[]) => {
      this.done.push(`program ${nics.length}`)
      await this.meanwhile()
      if (this.fail) throw this.fail
      this.table = [...nics]
    },
    look: async (nics: readonly LanNic[]): Promise<GuardLook | undefined> => {
      this.done.push('look')
      const { table, acks, rogues, dropped } = this
      await this.meanwhile()
      const same = JSON.stringify(table?.map(({ tap }) => tap)) === JSON.stringify(nics.map(({ tap }) => tap))
      return table && { whole: same, acks: [...acks], rogues, dropped }
    },
    remove: async () => {
      this.done.push('remove')
      this.table = undefined
    },
  }
  readonly taps = {
    ensure: async (name: string, _signal: AbortSignal, bridge: string) => {
      this.done.push(`tap ${name} on ${bridge}`)
      this.hasTap(name, bridge)
    },
    remove: async (name: string) => {
      this.done.push(`no tap ${name}`)
      rmSync(join(sys, name), { recursive: true, force: true })
    },
  }

  hasTap(name: string, bridge: string): void {
    mkdirSync(join(sys, name), { recursive: true })
    rmSync(join(sys, name, 'master'), { force: true })
    symlinkSync(`../../devices/virtual/net/${bridge}`, join(sys, name, 'master'))
  }

  gives(vm: { vmId: string }, ip: string, ageS = 1): void {
    this.acks.push({ ...nicOf(vm), ip, ageS })
  }
}

let host: Host
let clock: SteppedClock
let told: string[]
const open: OperatorNetworks[] = []
beforeEach(() => {
  host = new Host()
  clock = new SteppedClock()
  told = []
})
afterEach(async () => {
  for (const networks of open.splice(0)) await networks.close()
})

function serving(...names: string[]): OperatorNetworks {
  const networks = new OperatorNetworks({
    networks: names.map((name, i) => ({ name, bridge: `br${i}` })),
    taps: host.taps,
    guard: host.guard,
    clock,
    log: silentLog,
    onAddress: (vmId) => told.push(vmId),
    sysClassNet: sys,
  })
  open.push(networks)
  return networks
}

async function started(...names: string[]): Promise<OperatorNetworks> {
  const networks = serving(...names)
  await networks.start([])
  return networks
}

/** Time passes until the next look has been taken. */
async function nextLook(ms = 1_000): Promise<void> {
  const looks = () => host.done.filter((what) => what === 'look').length
  const before = looks()
  await clock.asleep(1)
  clock.advance(ms)
  await expect.poll(looks).toBeGreaterThan(before)
  await clock.asleep(1)
}

describe('the bridges an agent is told of', () => {
  const lan = (bridge: string) => [{ name: 'lan', bridge }]

  it.each([
    ['br9', 'this host has no bridge br9, and the agent makes none of that kind'],
    ['lo', 'lo is no bridge'],
    ['br-file', 'br-file is no bridge'],
  ])('must be there and be bridges: %s', (bridge, problem) => {
    expect(() => requireBridges([{ name: 'ok', bridge: 'br0' }, ...lan(bridge)], { sysClassNet: sys, uid: 0 })).toThrow(
      expect.objectContaining({
        code: 'input/invalid',
        disposition: 'permanent',
        params: { field: '--host-network', value: `lan=${bridge}`, problem },
      }),
    )
  })

  it('are of no use to an agent that is not root', () => {
    expect(() => requireBridges(lan('br0'), { sysClassNet: sys, uid: 1000 })).toThrow(
      expect.objectContaining({
        params: expect.objectContaining({ problem: 'only an agent that runs as root can put VMs on a bridge' }),
      }),
    )
    expect(() => requireBridges([], { sysClassNet: sys, uid: 1000 })).not.toThrow()
  })
})

describe('the guard of an agent', () => {
  it('is programmed at the start of an agent with a network, and once more at the next', async () => {
    await started('lan')
    await started('lan')
    expect(host.done).toEqual(['program 0', 'program 0'])
  })

  it('is removed at the start of an agent without one', async () => {
    await started()
    expect(host.done).toEqual(['remove'])
  })

  it('is put back when others emptied the table, with all that it learns of', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    host.table = undefined
    await nextLook()
    expect(host.table).toMatchObject([nicOf(WEB)])
    host.table = []
    await nextLook()
    expect(host.table).toMatchObject([nicOf(WEB)])
  })

  it('keeps new VMs off the network while it cannot be', async () => {
    host.fail = new Fault('vm/network-failed', 'transient', { detail: 'nft is busy' })
    const networks = await started('lan')
    await expect(networks.attach(WEB, live())).rejects.toMatchObject({ code: 'vm/network-failed' })
    expect(host.done.filter((what) => what.startsWith('tap'))).toEqual([])
    expect(networks.status()).toMatchObject([{ state: 'degraded', detail: expect.stringContaining('nft is busy') }])
    expect(networks.notices()).toEqual([expect.stringContaining('nft is busy')])
    host.fail = undefined
    await nextLook(10_000)
    expect(networks.status()).toMatchObject([{ state: 'ready', detail: '' }])
    await networks.attach(WEB, live())
  })

  it('names the VM that answers as a DHCP server, and how often', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    host.rogues = [nicOf(WEB).tap, 'eil-long-gone']
    host.dropped = 12
    await nextLook()
    expect(networks.notices()).toEqual([
      'web-1 answers as a DHCP server on the network lan: its answers are dropped (12 so far on this host).',
    ])
  })
})

describe('a VM on a network of the operator', () => {
  it('is refused on an unknown one before anything is made', async () => {
    const networks = await started('lan')
    const before = [...host.done]
    await expect(networks.attach({ ...WEB, network: 'dmz' }, live())).rejects.toMatchObject({
      code: 'vm/network-unknown',
      disposition: 'permanent',
      params: { network: 'dmz' },
    })
    expect(host.done).toEqual(before)
    expect(networks.status()).toMatchObject([{ name: 'lan', addresses: [] }])
  })

  it('is refused while the bridge is away, and says which', async () => {
    const networks = await started('lan')
    rmSync(join(sys, 'br0'), { recursive: true })
    await expect(networks.attach(WEB, live())).rejects.toMatchObject({
      disposition: 'transient',
      params: { detail: 'there is no bridge br0 any more' },
    })
    expect(networks.status()).toMatchObject([
      { state: 'down', detail: 'There is no bridge br0 on this host any more.' },
    ])
  })

  it('has a second tap on its bridge, guarded before it is there', async () => {
    const networks = await started('lan', 'dmz')
    const nic = await networks.attach({ ...WEB, network: 'dmz' }, live())
    expect(nic).toEqual(nicOf(WEB))
    expect(nic.tap).toMatch(/^eil-/)
    expect(host.done).toEqual(['program 0', 'program 1', `tap ${nic.tap} on br1`])
  })

  it('gets the address that its DHCP server gave it, with the time', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    expect(networks.networkAddress(WEB.vmId)).toBe('')
    expect(networks.status()[0]).toMatchObject({ addresses: [{ vmId: WEB.vmId, ip: '', source: '' }] })
    host.gives(WEB, '10.9.0.50', 3)
    await nextLook(5_000)
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
    expect(told).toEqual([WEB.vmId])
    expect(networks.status()).toMatchObject([
      {
        name: 'lan',
        kind: 'operator',
        bridge: 'br0',
        addresses: [
          {
            ...{ vmId: WEB.vmId, mac: nicOf(WEB).mac, ip: '10.9.0.50', source: 'dhcp' },
            seenAt: { seconds: BigInt(Math.floor((clock.now() - 3_000) / 1_000)) },
          },
        ],
      },
    ])
  })

  it('has the newest of several, and keeps what it has when two came at once', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    clock.advance(60_000)
    host.gives(WEB, '10.9.0.50', 20)
    host.gives(WEB, '10.9.0.51', 4)
    await nextLook(10_000)
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.51')
    host.acks = []
    host.gives(WEB, '10.9.0.52', 4)
    host.gives(WEB, '10.9.0.51', 4)
    await nextLook(10_000)
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.51')
  })

  it('takes no address that came by another tap or for another MAC', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    await networks.attach(DB, live())
    host.acks = [
      { tap: nicOf(DB).tap, mac: nicOf(WEB).mac, ip: '10.9.0.66', ageS: 1 },
      { tap: nicOf(WEB).tap, mac: '52:54:00:00:00:01', ip: '10.9.0.67', ageS: 1 },
    ]
    await nextLook()
    expect([WEB, DB].map(({ vmId }) => networks.networkAddress(vmId))).toEqual(['', ''])
  })

  it('is looked after each second while its address is awaited, then seldom', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    await nextLook(1_000)
    await nextLook(1_000)
    host.gives(WEB, '10.9.0.50')
    await nextLook(1_000)
    const looks = host.done.length
    for (let second = 0; second < 9; second++) {
      clock.advance(1_000)
      await clock.asleep(1)
    }
    expect(host.done).toHaveLength(looks)
    await nextLook(1_000)
  })

  it('is looked after seldom when no address comes for two minutes', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    await clock.asleep(1)
    clock.advance(121_000)
    await nextLook(0).catch(() => {})
    const looks = host.done.length
    clock.advance(9_000)
    await clock.asleep(1)
    expect(host.done).toHaveLength(looks)
  })

  it('loses neither address nor learner over further tries to boot it', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    host.gives(WEB, '10.9.0.50')
    await nextLook()
    await networks.attach(WEB, live())
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
    host.fail = new Fault('vm/network-failed', 'transient', { detail: 'nft is busy' })
    await expect(networks.attach(WEB, live())).rejects.toMatchObject({ code: 'vm/network-failed' })
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
    expect(host.table).toMatchObject([nicOf(WEB)])
    host.fail = undefined
    await networks.attach(DB, live())
    expect(host.table).toMatchObject([nicOf(WEB), nicOf(DB)])
  })

  it('is not started when its address could not be learned', async () => {
    const networks = await started('lan')
    host.fail = new Fault('vm/network-failed', 'transient', { detail: 'nft is busy' })
    await expect(networks.attach(WEB, live())).rejects.toMatchObject({ params: { detail: 'nft is busy' } })
    host.fail = undefined
    await networks.attach(DB, live())
    expect(host.table).toMatchObject([nicOf(DB)])
  })

  it('is no trouble when it was deleted while its learner failed to start, and leaves no tap', async () => {
    const networks = await started('lan')
    host.fail = new Fault('vm/network-failed', 'transient', { detail: 'nft is busy' })
    let deleted: Promise<void> | undefined
    host.meanwhile = async () => {
      deleted ??= networks.detach(WEB.vmId)
    }
    await expect(networks.attach(WEB, live())).resolves.toEqual(nicOf(WEB))
    await deleted
    expect(host.done.filter((what) => what.startsWith('tap'))).toEqual([])
    expect(networks.status()).toMatchObject([{ addresses: [] }])
  })

  it('leaves no tap when it was deleted while that was made', async () => {
    const networks = await started('lan')
    const { ensure } = host.taps
    host.taps.ensure = async (...args) => {
      await networks.detach(WEB.vmId)
      await ensure(...args)
    }
    await networks.attach(WEB, live())
    expect(host.done.at(-1)).toBe(`no tap ${nicOf(WEB).tap}`)
  })

  it('is watched as ever when it was deleted and made anew while its learner failed to start', async () => {
    const networks = await started('lan')
    host.fail = new Fault('vm/network-failed', 'transient', { detail: 'nft is busy' })
    let again: Promise<unknown> | undefined
    host.meanwhile = async () => {
      again ??= networks.detach(WEB.vmId).then(() => {
        host.fail = undefined
        return networks.attach(WEB, live())
      })
    }
    await networks.attach(WEB, live())
    await again
    expect(host.table).toMatchObject([nicOf(WEB)])
    host.gives(WEB, '10.9.0.50')
    await nextLook()
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
  })
})

describe('a VM that has gone', () => {
  it('leaves neither tap nor address, however often it goes', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    await networks.attach(DB, live())
    host.gives(WEB, '10.9.0.50')
    await nextLook()
    await networks.detach(WEB.vmId)
    await networks.detach(WEB.vmId)
    expect(host.table).toMatchObject([nicOf(DB)])
    expect(host.done.filter((what) => what === `no tap ${nicOf(WEB).tap}`)).toHaveLength(1)
    expect(networks.networkAddress(WEB.vmId)).toBe('')
  })

  it('gets no address from a look that was under way', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    host.gives(WEB, '10.9.0.50')
    let gone: Promise<void> | undefined
    host.meanwhile = async () => {
      gone ??= networks.detach(WEB.vmId)
    }
    await nextLook()
    await gone
    expect(networks.networkAddress(WEB.vmId)).toBe('')
    expect(told).toEqual([])
  })

  it('gives no address to the next of its id, neither by a look under way nor by what the kernel remembers', async () => {
    const networks = await started('lan')
    await networks.attach(WEB, live())
    host.gives(WEB, '10.9.0.50', 1)
    clock.advance(60_000)
    let again: Promise<unknown> | undefined
    host.meanwhile = async () => {
      again ??= networks.detach(WEB.vmId).then(() => networks.attach(WEB, live()))
    }
    await nextLook()
    host.meanwhile = async () => {}
    await again
    expect(networks.networkAddress(WEB.vmId)).toBe('')
    host.acks[0]!.ageS = 3
    await nextLook()
    expect(networks.networkAddress(WEB.vmId)).toBe('')
    host.gives(WEB, '10.9.0.51', 1)
    await nextLook()
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.51')
  })

  it('has its tap removed even when no agent knows of it', async () => {
    const networks = await started('lan')
    host.hasTap(nicOf(WEB).tap, 'br0')
    await networks.detach(WEB.vmId)
    expect(host.done.at(-1)).toBe(`no tap ${nicOf(WEB).tap}`)
  })
})

describe('VMs of an earlier life of the agent', () => {
  const known = (vm: typeof WEB, networkIp: string) => ({ ...vm, ip: '', networkIp })

  it('keep their addresses, and are learned of again where their tap is there', async () => {
    host.hasTap(nicOf(WEB).tap, 'br0')
    const networks = serving('lan')
    const vms = [
      known(WEB, '10.9.0.50'),
      known(DB, '10.9.0.51'),
      known({ ...DB, network: '', vmId: 'c'.repeat(32) }, ''),
    ]
    await networks.start(vms)
    expect(host.table).toMatchObject([nicOf(WEB)])
    expect([WEB, DB].map(({ vmId }) => networks.networkAddress(vmId))).toEqual(['10.9.0.50', '10.9.0.51'])
    expect(networks.status()).toMatchObject([{ addresses: [{ vmId: WEB.vmId }, { vmId: DB.vmId }] }])
    expect(networks.notices()).toEqual([])
  })

  it('get what their server gave them while no agent ran', async () => {
    host.hasTap(nicOf(WEB).tap, 'br0')
    host.gives(WEB, '10.9.0.77', 300)
    const networks = serving('lan')
    await networks.start([known(WEB, '')])
    await nextLook(10_000)
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.77')
  })

  it('are taken up without an address too', async () => {
    host.hasTap(nicOf(WEB).tap, 'br0')
    const networks = serving('lan')
    await networks.start([known(WEB, '')])
    expect(host.table).toMatchObject([nicOf(WEB)])
  })

  it('go on, guarded, on a network that is no longer served; their next start is refused, and all that is said', async () => {
    host.hasTap(nicOf(WEB).tap, 'br1')
    const networks = serving()
    await networks.start([known(WEB, '10.9.0.50')])
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
    expect(host.table).toMatchObject([nicOf(WEB)])
    expect(networks.notices()).toEqual([
      'The agent no longer serves the network lan (--host-network), on which web-1 is: what runs goes on and keeps its address, a next start is refused.',
    ])
    expect(networks.status()).toMatchObject([{ name: 'lan', bridge: 'br1', state: 'degraded' }])
    await expect(networks.attach(WEB, live())).rejects.toMatchObject({
      code: 'vm/network-unknown',
      disposition: 'permanent',
    })
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
    await networks.detach(WEB.vmId)
    expect(host.table).toBeUndefined()
    expect(networks.notices()).toEqual([])
    expect(networks.status()).toEqual([])
  })

  it('do not keep the agent from starting when the guard cannot be', async () => {
    host.fail = new Fault('vm/network-failed', 'permanent', { detail: 'nft is not installed (nftables)' })
    host.hasTap(nicOf(WEB).tap, 'br0')
    const networks = serving('lan')
    await networks.start([known(WEB, '10.9.0.50')])
    expect(networks.networkAddress(WEB.vmId)).toBe('10.9.0.50')
  })
})
