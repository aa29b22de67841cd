import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { DesiredStateSchema, SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { aVm, ID, OTHER, Rig } from './rig.ts'

describe('the engine', () => {
  it('an older snapshot changes nothing and is answered with all there is', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ hostCertRequired: true, sshHostCert: 'cert' }), aVm({ vmId: OTHER, name: 'db' }))
    await rig.want(
      aVm({ hostCertRequired: true, sshHostCert: 'cert' }),
      aVm({ vmId: OTHER, tombstone: { graceS: 9n } }),
    )
    expect(await rig.send([], 1n)).toBe('fenced')
    await rig.engine.idle()
    const report = rig.engine.report()
    expect(report).toMatchObject({ fenced: true, lastSeenEpoch: 2n })
    expect(report.vms).toMatchObject([{ vmId: ID, power: 'running', hostPublicKey: 'ssh-ed25519 AAAA web' }])
    expect(report.quarantined).toMatchObject([{ vmId: OTHER }])
    expect(report.vms[0]?.unowned).toBe(false)
  })

  it('the same epoch with other content is fenced, with the same content accepted', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    expect(await rig.send([aVm()], 1n)).toBe('accepted')
    expect(await rig.send([aVm({ memMb: 99 })], 1n)).toBe('fenced')
  })

  it('acks come from the last accepted snapshot, not from a fenced one', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.send([aVm({ vmId: OTHER, tombstone: { graceS: 0n } })], 0n)
    await rig.engine.idle()
    expect(rig.engine.report().destroyed).toEqual([])
  })

  it('a snapshot without a state, with a foreign id or a VM twice is refused and nothing of it kept', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await expect(rig.engine.accept(create(SnapshotSchema, { epoch: 9n }))).rejects.toMatchObject({
      code: 'input/invalid',
    })
    for (const vms of [[aVm({ vmId: '../../etc' })], [aVm(), aVm()]]) {
      const state = create(DesiredStateSchema, { vms })
      await expect(rig.engine.accept(create(SnapshotSchema, { epoch: 9n, state }))).rejects.toThrow(/snapshot/)
    }
    expect(rig.engine.lastSeenEpoch()).toBe(1n)
    expect(rig.row()?.unowned).toBe(false)
  })

  it('a snapshot counts only once its epoch and then itself are durable', async () => {
    await using rig = await Rig.open()
    const order: string[] = []
    rig.epochs.raiseEpoch = async (epoch) => {
      order.push(`epoch ${epoch}, snapshot ${rig.desired?.snapshot.epoch}, ${rig.backend.calls.length} calls`)
      rig.epochs.epoch = epoch
    }
    await rig.want(aVm())
    expect(order).toEqual(['epoch 1, snapshot undefined, 0 calls'])
    expect(rig.desired?.snapshot.epoch).toBe(1n)
  })

  it('a snapshot whose epoch alone became durable is welcome again, and an older one is not', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const { desired } = rig
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.desired = desired
    await rig.restart()
    expect(await rig.send([aVm()], 1n)).toBe('fenced')
    expect(await rig.send([aVm({ powerState: 'stopped' })], 2n)).toBe('accepted')
  })

  it('leaves every VM running and unowned when the agent gets a new owner, also over a restart', async () => {
    await using rig = await Rig.open()
    const gone = { vmId: OTHER, name: 'old' }
    await rig.want(aVm(), aVm(gone))
    await rig.want(aVm(), aVm({ ...gone, tombstone: { graceS: 900n } }))
    rig.epochs.epoch = 0n
    rig.epochs.epochDigest = ''
    const alone = () => {
      const { vms, quarantined, destroyed } = rig.engine.report()
      expect(vms).toMatchObject([{ vmId: ID, power: 'running', unowned: true }])
      expect(quarantined).toMatchObject([{ vmId: gone.vmId, unowned: true }])
      expect(quarantined[0]?.destroyAt).toBeUndefined()
      expect(destroyed).toEqual([])
    }
    const { desired } = rig
    await rig.engine.disown()
    await rig.engine.idle()
    alone()
    await rig.restart()
    alone()
    rig.desired = desired
    await rig.restart()
    alone()
    expect(await rig.send([aVm()], 1n)).toBe('accepted')
    await rig.engine.idle()
    expect(rig.row()).toMatchObject({ power: 'running', unowned: false })
  })

  it('a destroyed VM is forgotten with the very next snapshot, however soon it comes', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ tombstone: { graceS: 0n } }))
    expect(rig.engine.report().destroyed).toEqual([ID])
    expect(rig.desired?.deletedIn).toEqual(new Map([[ID, 2n]]))
    await rig.want()
    expect(rig.desired?.deletedIn).toEqual(new Map())
  })

  it('an unreadable record changes nothing for that tick', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const before = rig.brief()
    rig.records.unreadable.add(ID)
    await rig.tick(2)
    expect(rig.brief()).toBe(before)
    expect(rig.engine.report().notices).toEqual([
      `The record of VM web cannot be read (${rig.recordFile(ID)}: input/output error); nothing is done to it.`,
    ])
    expect(rig.backend.calls.filter((c) => c.startsWith('preflight'))).toHaveLength(1)
    rig.records.unreadable.clear()
    await rig.tick()
    expect(rig.brief()).toBe(before)
    expect(rig.engine.report().notices).toEqual([])
  })

  it('a report never waits for work and shows the last rows', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const release = rig.backend.hold('shutdown')
    await rig.send([aVm({ powerState: 'stopped' })])
    await expect.poll(() => rig.brief()).toBe('running/ready/stopping')
    await rig.engine.dispatch()
    expect(rig.engine.report().vms).toHaveLength(1)
    release()
    await rig.engine.idle()
  })

  it('a VM that vanishes before it has a record, and comes back, still has one worker', async () => {
    await using rig = await Rig.open()
    const release = rig.backend.hold('preflight')
    await rig.send([aVm()])
    await expect.poll(() => rig.backend.calls).toEqual(['preflight'])
    await rig.send([])
    await rig.send([aVm()])
    await rig.engine.dispatch()
    expect(rig.backend.calls).toEqual(['preflight'])
    release()
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM forgotten while it waits for its image leaves no row behind', async () => {
    await using rig = await Rig.open()
    const release = rig.backend.hold('preflight')
    await rig.send([aVm({ imageUrl: '' })])
    await expect.poll(() => rig.backend.calls).toEqual(['preflight'])
    await rig.send([])
    release()
    await rig.engine.idle()
    expect(rig.engine.report()).toMatchObject({ vms: [], wantedImages: [] })
  })

  it('a thousand VMs whose workers are all blocked are reported, and routed again, without waiting for one', async () => {
    await using rig = await Rig.open({ many: true })
    const vms = Array.from({ length: 1_000 }, (_, i) =>
      aVm({ vmId: i.toString(16).padStart(32, '0'), name: `vm-${i}` }),
    )
    await rig.want(...vms)
    const release = rig.backend.hold('shutdown')
    await rig.send(vms.map((vm) => aVm({ ...vm, powerState: 'stopped' })))
    await expect.poll(() => rig.backend.calls.filter((call) => call.startsWith('shutdown'))).toHaveLength(1_000)
    await rig.engine.dispatch()
    await rig.engine.dispatch()
    const { vms: rows } = rig.engine.report()
    expect(rows).toHaveLength(1_000)
    expect(new Set(rows.map((row) => `${row.power}/${row.phase}/${row.detail}`))).toEqual(
      new Set(['running/ready/stopping']),
    )
    release()
    await rig.engine.idle()
    expect(rig.backend.guests.size).toBe(0)
  })

  it('a burst of snapshots during a slow pass is one further pass with the newest', async () => {
    await using rig = await Rig.open()
    const release = rig.backend.hold('boot')
    await rig.send([aVm()])
    await expect.poll(() => rig.backend.calls).toContain(`boot ${ID}`)
    for (const memMb of [1, 2, 3, 4, 5]) await rig.send([aVm({ memMb })])
    const saves = rig.records.saved.length
    release()
    await rig.engine.idle()
    expect(rig.records.saved.slice(saves).map((r) => r.spec.memMb)).toEqual([512, 5])
  })

  it('a VM that vanishes while its worker is busy keeps that one worker', async () => {
    await using rig = await Rig.open()
    const release = rig.backend.hold('boot')
    await rig.send([aVm()])
    await expect.poll(() => rig.backend.calls).toContain(`boot ${ID}`)
    await rig.send([])
    await rig.send([aVm()])
    release()
    await rig.engine.idle()
    expect(rig.backend.calls.filter((c) => c === `boot ${ID}`)).toHaveLength(1)
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM whose record could not be read when the agent started is counted once it can be', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    rig.records.unreadable.add(ID)
    await rig.restart()
    rig.records.unreadable.clear()
    await rig.tick()
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('a VM counts as soon as its record can be read, also when nothing can be written', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    await rig.want()
    rig.records.unreadable.add(ID)
    await rig.restart()
    rig.records.unreadable.clear()
    rig.records.onSave = () => {
      throw new Error('disk full')
    }
    await rig.want(aVm({ memMb: 256 }))
    await rig.want(aVm({ memMb: 256 }), aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('the first report after a restart has the records as they are, quarantined ones as such, keys included', async () => {
    await using rig = await Rig.open()
    const certified = aVm({ hostCertRequired: true, sshHostCert: 'cert' })
    await rig.want(certified, aVm({ vmId: OTHER, name: 'db' }))
    await rig.want(certified, aVm({ vmId: OTHER, name: 'db', tombstone: { graceS: 86_400n } }))
    const gate = Promise.withResolvers<undefined>()
    rig.backend.running = () => gate.promise
    await rig.begin()
    const report = rig.engine.report()
    expect(report.vms).toMatchObject([{ vmId: ID, hostPublicKey: 'ssh-ed25519 AAAA web', detail: '', reason: '' }])
    expect([report.vms[0]?.power, report.vms[0]?.phase]).toEqual([undefined, undefined])
    expect(report.quarantined).toMatchObject([{ vmId: OTHER, specJson: expect.stringContaining('"db"') }])
    expect(report.quarantined[0]?.destroyAt).toBeDefined()
    expect(report.destroyed).toEqual([])
    gate.resolve(undefined)
  })

  it('a kept snapshot that cannot be read decides nothing: guests go on, nobody is called unowned, people are told', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db', tombstone: { graceS: 1n } }))
    const calls = rig.backend.calls.length
    rig.desiredProblem = 'it is of version 2, this agent knows version 1'
    rig.host.uptimeMs += 10_000
    await rig.restart()
    expect(rig.row()).toMatchObject({ power: 'running', unowned: false })
    expect(rig.quarantined(OTHER)).toMatchObject({ unowned: false })
    expect(rig.backend.calls).toHaveLength(calls)
    expect(rig.engine.report().notices).toEqual([
      expect.stringMatching(
        /^What this host should run cannot be read \(.*desired.bin: it is of version 2.*connects\.$/,
      ),
    ])
    await rig.want(aVm())
    expect(rig.engine.report().notices).toEqual([])
  })

  it('records that cannot be listed keep no agent from starting and no snapshot from being accepted', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    const calls = rig.backend.calls.length
    rig.records.unlisted = new Error('input/output error')
    await rig.restart()
    expect(await rig.send([aVm(), aVm({ vmId: OTHER, name: 'db' })])).toBe('accepted')
    await rig.engine.idle()
    expect(rig.backend.calls).toHaveLength(calls)
    expect(rig.engine.report().notices).toEqual([expect.stringMatching(/cannot be listed .*input\/output error/)])
    rig.records.unlisted = undefined
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
    expect(rig.engine.report().notices).toEqual([])
  })

  it('stopping waits for a snapshot being kept, and takes none after it', async () => {
    await using rig = await Rig.open()
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const raise = rig.epochs.raiseEpoch.bind(rig.epochs)
    rig.epochs.raiseEpoch = async (epoch, digest) => {
      begun.resolve()
      await gate.promise
      await raise(epoch, digest)
    }
    const accepted = rig.send([aVm()])
    await begun.promise
    const stopped = rig.engine.stop().then(() => rig.desired?.snapshot.epoch)
    gate.resolve()
    expect(await accepted).toBe('accepted')
    expect(await stopped).toBe(1n)
    await expect(rig.send([])).rejects.toMatchObject({ code: 'app/cancelled' })
    expect(rig.backend.calls).toEqual([])
  })

  it('VMs that exist already are counted at start-up', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    await rig.restart()
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('an unreadable record is told of no longer once its directory is gone', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.unreadable.add(ID)
    await rig.want()
    await rig.tick()
    expect(rig.engine.report().notices).toEqual([expect.stringContaining('cannot be read')])
    rig.records.texts.delete(ID)
    await rig.tick()
    expect(rig.engine.report().notices).toEqual([])
  })

  it('an unreadable record has no row after a restart, only a notice, until it can be read', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.unreadable.add(ID)
    await rig.restart()
    expect(rig.brief()).toBe('no row')
    expect(rig.engine.report().notices).toEqual([expect.stringContaining('VM web cannot be read')])
    expect(rig.engine.has(ID)).toBe(true)
    await rig.tick()
    expect(rig.brief()).toBe('no row')
    rig.records.unreadable.clear()
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.engine.report().notices).toEqual([])
  })

  it('the notice of a VM nobody knows the name of has its id', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.unreadable.add(ID)
    rig.desired = undefined
    await rig.restart()
    expect(rig.engine.report().notices).toEqual([
      `The record of VM ${ID} cannot be read (${rig.recordFile(ID)}: input/output error); nothing is done to it.`,
    ])
  })

  it('the host key is in every row, whatever the row says', async () => {
    await using rig = await Rig.open()
    const certified = (change = {}) => aVm({ hostCertRequired: true, sshHostCert: 'cert', ...change })
    await rig.want(certified())
    await rig.want(certified({ powerState: 'stopped' }))
    expect(rig.row()?.hostPublicKey).toBe('ssh-ed25519 AAAA web')
    await rig.restart()
    expect(rig.row()?.hostPublicKey).toBe('ssh-ed25519 AAAA web')
  })

  it('stopping ends passes under way, takes nothing more and leaves guests running', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ vmId: OTHER, name: 'db' }))
    rig.backend.hold('boot')
    await rig.send([aVm({ vmId: OTHER, name: 'db' }), aVm()])
    await expect.poll(() => rig.backend.calls).toContain(`boot ${ID}`)
    await rig.engine.stop()
    const calls = rig.backend.calls.length
    await rig.engine.dispatch()
    expect(rig.backend.calls).toHaveLength(calls)
    expect(rig.backend.guests.has(OTHER)).toBe(true)
    expect(rig.records.of(ID)).toMatchObject({ createAttempts: 0, lastError: '', lastReason: '' })
  })

  it('a stop that the end of the agent cut short is no error, and is taken up again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.deaf.add(ID)
    await rig.send([aVm({ powerState: 'stopped' })])
    await expect.poll(() => rig.backend.calls.at(-1)).toBe(`shutdown ${ID} 1000`)
    await rig.engine.stop()
    expect(rig.records.of(ID)).toMatchObject({ stopRequested: true, lastError: '' })
    rig.backend.deaf.clear()
    await rig.restart()
    expect(rig.brief()).toBe('stopped/ready/')
  })

  it('every VM is looked at again about every 10 seconds, for as long as the agent runs', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.engine.stop()
    let looks = 0
    const list = rig.records.list.bind(rig.records)
    rig.records.list = () => {
      looks++
      return list()
    }
    await rig.begin({ tick: true })
    expect(looks).toBe(1)
    for (const expected of [2, 3, 4]) {
      rig.clock.advance(8_900)
      await new Promise((resolve) => setImmediate(resolve))
      expect(looks).toBe(expected - 1)
      rig.clock.advance(2_200)
      await expect.poll(() => looks).toBe(expected)
      await new Promise((resolve) => setImmediate(resolve))
    }
  })

  it('a change is told, a tick that finds nothing new is not', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    let told = 0
    rig.engine.onChange(() => told++)
    await rig.tick(3)
    expect(told).toBe(0)
    await rig.want(aVm({ powerState: 'stopped' }))
    expect(told).toBeGreaterThan(0)
  })
})
