import { describe, expect, it } from 'vitest'
import { AUTOSTART_WAIT_MS, AutostartTurns } from '../../../../src/agent/reconcile/autostart-turns.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import type { VmSpec } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { aVm, Rig } from './rig.ts'

const idOf = (name: string) => Buffer.from(name.padEnd(16, '.')).toString('hex')
const named = (name: string, autostartOrder = 0, change: Partial<VmSpec> = {}) =>
  aVm({ vmId: idOf(name), name, autostartOrder, ...(change as object) })
const boots = (rig: Rig) =>
  rig.backend.calls
    .filter((call) => call.startsWith('boot '))
    .map((call) => Buffer.from(call.slice(5), 'hex').toString().replaceAll('.', ''))

/** A host on which all of them ran, and that has just booted again; nobody is connected. */
async function afterReboot(vms: VmSpec[], { uptimeMs = 1_000 } = {}): Promise<Rig> {
  const rig = await Rig.open()
  await rig.want(...vms)
  rig.backend.guests.clear()
  rig.backend.calls.length = 0
  rig.host.bootId = 'boot-2'
  rig.host.uptimeMs = uptimeMs
  return rig
}

/** Lets time pass on the host. */
async function passes(rig: Rig, ms: number): Promise<void> {
  rig.host.uptimeMs += ms
  rig.clock.advance(ms)
  await new Promise((resolve) => setImmediate(resolve))
  await rig.engine.idle()
}

describe('after a reboot of the host', () => {
  it('lower numbers start before higher ones, equal ones together, without any control plane', async () => {
    await using rig = await afterReboot([named('app', 20), named('db', 10), named('mq', 10), named('web', 30)])
    const release = rig.backend.hold('boot')
    await rig.begin()
    await expect.poll(() => boots(rig).sort()).toEqual(['db', 'mq'])
    expect(rig.brief(idOf('app'))).toBe('stopped/ready/starts by itself after db, mq')
    release()
    await rig.engine.idle()
    expect(boots(rig).slice(2)).toEqual(['app', 'web'])
    expect(rig.engine.report().vms.map(({ power }) => power)).toEqual(Array(4).fill('running'))
  })

  it('a VM starts when its delay from the boot of the host is over, and not the next before it is up', async () => {
    await using rig = await afterReboot([named('db', 10, { autostartDelayS: 60 }), named('app', 20)])
    await rig.restart()
    expect(rig.brief(idOf('db'))).toBe('stopped/ready/starts by itself 60 s after its host booted')
    expect(rig.brief(idOf('app'))).toBe('stopped/ready/starts by itself after db')
    await passes(rig, 58_000)
    expect(boots(rig)).toEqual([])
    await passes(rig, 1_000)
    expect(boots(rig)).toEqual(['db', 'app'])
  })

  it('a delay that was over before the agent came is waited for no more', async () => {
    await using rig = await afterReboot([named('db', 0, { autostartDelayS: 60 })], { uptimeMs: 61_000 })
    await rig.restart()
    expect(boots(rig)).toEqual(['db'])
  })

  it('a VM that cannot start holds nobody back', async () => {
    await using rig = await afterReboot([named('db', 1), named('app', 2)])
    rig.backend.fail('boot', new Fault('vm/start-failed', 'transient', { detail: 'no' }))
    await rig.restart()
    expect(rig.row(idOf('db'))).toMatchObject({ power: 'stopped', phase: 'failed' })
    expect(rig.brief(idOf('app'))).toBe('running/ready/')
  })

  it('a VM that neither starts nor fails is waited for five minutes and no longer', async () => {
    await using rig = await afterReboot([named('db', 1), named('app', 2)])
    const release = rig.backend.hold('boot')
    await rig.begin()
    await expect.poll(() => boots(rig)).toEqual(['db'])
    rig.host.uptimeMs += AUTOSTART_WAIT_MS - 1
    await rig.engine.dispatch()
    expect(rig.row(idOf('app'))?.detail).toBe('starts by itself after db')
    rig.host.uptimeMs += 1
    await rig.engine.dispatch()
    await expect.poll(() => boots(rig)).toEqual(['db', 'app'])
    release()
    await rig.engine.idle()
  })

  it('a VM that a person starts is not held back', async () => {
    await using rig = await afterReboot([named('db', 1), named('app', 2), named('web', 3, { powerState: 'stopped' })])
    const release = rig.backend.hold('boot')
    await rig.begin()
    await expect.poll(() => boots(rig)).toEqual(['db'])
    await rig.send([named('db', 1), named('app', 2, { restartCount: 1n }), named('web', 3)])
    await expect.poll(() => boots(rig)).toEqual(['db', 'app', 'web'])
    release()
    await rig.engine.idle()
  })

  it('what does not start by itself, is to be off, deleted or not made yet holds nobody back', async () => {
    const off = named('off', 1, { autostart: false })
    const tombstone = { $typeName: 'eitri.agent.v1.Tombstone' as const, graceS: 600n }
    await using rig = await afterReboot([off, named('down', 1, { powerState: 'stopped' }), named('app', 2)])
    await rig.send([
      off,
      named('down', 1, { powerState: 'stopped' }),
      named('gone', 1, { tombstone }),
      named('new', 1, { imageUrl: '', imageSha256: '2'.repeat(64) }),
      named('app', 2),
    ])
    await rig.engine.idle()
    expect(rig.brief(idOf('app'))).toBe('running/ready/')
    expect(rig.row(idOf('off'))?.detail).toContain('autostart is off')
  })

  it('VMs without an order and a delay all start at once, as ever', async () => {
    await using rig = await afterReboot([named('a'), named('b'), named('c')])
    const release = rig.backend.hold('boot')
    await rig.begin()
    await expect.poll(() => boots(rig).sort()).toEqual(['a', 'b', 'c'])
    release()
    await rig.engine.idle()
  })

  it('an agent that starts again in the same boot holds back nobody that ran', async () => {
    await using rig = await afterReboot([named('db', 1), named('app', 2)])
    await rig.restart()
    rig.backend.guests.clear()
    const release = rig.backend.hold('boot')
    rig.backend.calls.length = 0
    await rig.begin()
    await expect.poll(() => boots(rig).sort()).toContain('app')
    release()
    await rig.engine.idle()
  })

  it('a host whose wall clock jumps by years keeps the delays, for they are of its uptime', async () => {
    await using rig = await afterReboot([named('db', 0, { autostartDelayS: 60 })])
    await rig.restart()
    for (const years of [-3, 30]) {
      rig.clock.wall += years * 365 * 86_400_000
      await rig.tick()
      expect(boots(rig)).toEqual([])
    }
    await passes(rig, 59_000)
    expect(boots(rig)).toEqual(['db'])
  })

  it('a host that names another boot while its guests run on starts nothing twice', async () => {
    await using rig = await afterReboot([named('db', 1), named('app', 2)])
    await rig.restart()
    rig.host.bootId = 'boot-3'
    rig.backend.calls.length = 0
    await rig.restart()
    expect(boots(rig)).toEqual([])
    expect(rig.brief(idOf('app'))).toBe('running/ready/')
  })

  it('a thousand VMs in a hundred orders all come up', async () => {
    const vms = Array.from({ length: 1_000 }, (_, n) => named(`vm-${n}`, n % 100))
    await using rig = await Rig.open({ many: true })
    await rig.want(...vms)
    rig.backend.guests.clear()
    rig.backend.calls.length = 0
    rig.host.bootId = 'boot-2'
    await rig.restart()
    const orders = boots(rig).map((name) => Number(name.slice(3)) % 100)
    expect(orders).toHaveLength(1_000)
    expect(orders).toEqual([...orders].sort((a, b) => a - b))
  }, 60_000)
})

describe('whose turn it is', () => {
  const vm = (name: string, order: number, delayMs = 0, pending = true) => ({
    vmId: name,
    name,
    order,
    delayMs,
    pending,
  })

  it('is told from the uptime alone, and an uptime that goes back begins the wait anew', () => {
    const turns = new AutostartTurns()
    const vms = [vm('db', 1), vm('app', 2)]
    const at = (uptimeMs: number) => turns.turn(vms, { bootId: 'b', uptimeMs })
    expect(at(100_000)).toBe(1)
    expect(at(100_000 + AUTOSTART_WAIT_MS)).toBe(2)
    expect(at(0)).toBe(1)
    expect(at(AUTOSTART_WAIT_MS)).toBe(2)
  })

  it('begins anew with another boot', () => {
    const turns = new AutostartTurns()
    const vms = [vm('db', 1), vm('app', 2)]
    expect(turns.turn(vms, { bootId: 'b', uptimeMs: 1_000 })).toBe(1)
    expect(turns.turn(vms, { bootId: 'c', uptimeMs: 2_000 + AUTOSTART_WAIT_MS })).toBe(1)
  })

  it('is everybody’s once nobody is waited for', () => {
    const now = { bootId: 'b', uptimeMs: 0 }
    expect(new AutostartTurns().turn([vm('db', 1, 0, false)], now)).toBe(Number.POSITIVE_INFINITY)
    expect(new AutostartTurns().turn([], now)).toBe(Number.POSITIVE_INFINITY)
  })

  it('waits for a delayed VM from the end of its delay on', () => {
    const turns = new AutostartTurns()
    const vms = [vm('db', 1, 600_000), vm('app', 2)]
    const at = (uptimeMs: number) => turns.turn(vms, { bootId: 'b', uptimeMs })
    expect(at(0)).toBe(1)
    expect(at(600_000 + AUTOSTART_WAIT_MS - 1)).toBe(1)
    expect(at(600_000 + AUTOSTART_WAIT_MS)).toBe(2)
  })

  it('names at most three it waits for', () => {
    const vms = ['a', 'b', 'c', 'd', 'e'].map((name) => vm(name, 1))
    const waits = new AutostartTurns().waits({ order: 2, delayMs: 0 }, vms, { bootId: 'b', uptimeMs: 0 })
    expect(waits?.detail).toBe('starts by itself after a, b, c and 2 more')
  })
})
