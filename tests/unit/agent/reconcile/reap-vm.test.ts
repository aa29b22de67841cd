import { timestampMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../src/ipc/faults.ts'
import { aVm, ID, OTHER, Rig, SHA } from './rig.ts'

const DAY_S = 86_400n
const dead = (graceS = DAY_S) => aVm({ tombstone: { graceS } })
const destroyAt = (rig: Rig) => Number(timestampMs(rig.quarantined()!.destroyAt!))
const pass = (rig: Rig, ms: number) => {
  rig.host.uptimeMs += ms
  rig.clock.advance(ms)
}

describe('a deleted VM', () => {
  it('is stopped and kept in quarantine, its spec and end told', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    expect(rig.row()).toBeUndefined()
    expect(rig.backend.guests.size).toBe(0)
    expect(JSON.parse(rig.quarantined()!.specJson)).toMatchObject({ vmId: ID, name: 'web', imageSha256: SHA })
    expect(destroyAt(rig)).toBe(rig.clock.wall + 86_400_000)
    expect(rig.engine.report().destroyed).toEqual([])
  })

  it('the stop is stamped before it is tried', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.fail('shutdown', new Fault('vm/stop-failed', 'transient', { detail: 'stuck' }))
    await rig.want(dead())
    expect(rig.records.of(ID)).toMatchObject({ stopRequested: true, quarantine: { elapsedMs: 0 } })
    expect(rig.quarantined()?.detail).toBe('web did not stop (stuck).')
    await rig.tick()
    expect(rig.quarantined()?.detail).toBe('')
    expect(rig.backend.guests.size).toBe(0)
  })

  it('its compute is free at once', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    await rig.want(dead(), aVm({ vmId: OTHER, name: 'db' }))
    await rig.tick()
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('past its grace it is destroyed and acknowledged in every report', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    pass(rig, 86_399_000)
    await rig.tick()
    expect(rig.backend.calls).not.toContain(`destroy ${ID}`)
    pass(rig, 1_000)
    await rig.tick()
    expect(rig.backend.calls).toContain(`destroy ${ID}`)
    for (let i = 0; i < 3; i++) {
      expect(rig.engine.report()).toMatchObject({ vms: [], quarantined: [], destroyed: [ID] })
      await rig.tick()
    }
    await rig.restart()
    expect(rig.engine.report().destroyed).toEqual([ID])
    await rig.want()
    expect(rig.engine.report().destroyed).toEqual([])
  })

  it('a destroy that fails keeps the record, says why, and is tried each tick', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.fail('destroy', new Fault('vm/destroy-failed', 'transient', { detail: 'busy' }), 2)
    await rig.want(dead(0n))
    expect(rig.records.of(ID)).toBeDefined()
    expect(rig.quarantined()?.detail).toContain('busy')
    expect(rig.engine.report().destroyed).toEqual([])
    await rig.tick(2)
    expect(rig.records.of(ID)).toBeUndefined()
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('is destroyed to the end though the time of the pass is over', async () => {
    await using rig = await Rig.open({ passTimeoutMs: 60_000 })
    await rig.want(aVm())
    const release = rig.backend.hold('destroy')
    await rig.send([dead(0n)])
    await expect.poll(() => rig.backend.calls).toContain(`destroy ${ID}`)
    rig.clock.advance(60_000)
    expect(rig.records.of(ID)).toBeDefined()
    release()
    await rig.engine.idle()
    expect(rig.records.of(ID)).toBeUndefined()
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('is not acknowledged while a create of it may still be about to write', async () => {
    await using rig = await Rig.open()
    const gate = Promise.withResolvers<void>()
    rig.images.onFetch = () => gate.promise
    await rig.send([aVm()])
    await expect.poll(() => rig.images.fetches).toBe(1)
    await rig.send([dead(0n)])
    expect(rig.engine.report().destroyed).toEqual([])
    gate.resolve()
    await rig.engine.idle()
    expect(rig.engine.report().destroyed).toEqual([ID])
    expect(rig.records.of(ID)).toBeUndefined()
  })

  it('keeps its data when it is wanted again while the hypervisor is still ending it', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const release = rig.backend.hold('destroy')
    await rig.send([dead(0n)])
    await expect.poll(() => rig.backend.calls).toContain(`destroy ${ID}`)
    await rig.send([aVm()])
    release()
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.backend.calls.filter((c) => c.startsWith('prepareRootDisk'))).toHaveLength(1)
  })

  it('keeps its data when it is deleted anew, with a grace, while the hypervisor is still ending it', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const release = rig.backend.hold('destroy')
    await rig.send([dead(0n)])
    await expect.poll(() => rig.backend.calls).toContain(`destroy ${ID}`)
    await rig.send([aVm()])
    await rig.send([dead()])
    release()
    await rig.engine.idle()
    expect(destroyAt(rig)).toBe(rig.clock.wall + 86_400_000)
    expect(rig.records.of(ID)).toBeDefined()
  })

  it('is purged on a full disk too: that is what makes room', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.onSave = () => {
      throw new Fault('host/disk-full', 'transient', {})
    }
    await rig.want(dead(0n))
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('a grace of 0 purges now, without waiting for the guest', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.deaf.add(ID)
    await rig.want(dead(0n))
    expect(rig.backend.calls.some((c) => c.startsWith('shutdown'))).toBe(false)
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('a purge cuts the wait of an ordinary delete short', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.deaf.add(ID)
    await rig.send([dead()])
    await expect.poll(() => rig.backend.calls.at(-1)).toBe(`shutdown ${ID} 1000`)
    await rig.want(dead(0n))
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('undelete restores its power, and the next delete gets a full grace', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    pass(rig, 80_000_000)
    await rig.tick()
    rig.story.length = 0
    await rig.want(aVm())
    expect(rig.story.join()).not.toContain('failed')
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)?.quarantine).toBeUndefined()
    expect(rig.backend.calls.filter((c) => c.startsWith('prepareRootDisk'))).toHaveLength(1)
    await rig.want(dead())
    expect(destroyAt(rig)).toBe(rig.clock.wall + 86_400_000)
  })

  it('a second delete gets its full grace even when no pass saw the VM wanted in between', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.deaf.add(ID)
    await rig.send([dead()])
    await expect.poll(() => rig.backend.calls.at(-1)).toBe(`shutdown ${ID} 1000`)
    pass(rig, 80_000_000)
    await rig.send([aVm()])
    await rig.send([dead()])
    rig.backend.deaf.clear()
    rig.backend.crash(ID)
    await rig.restart()
    expect(destroyAt(rig)).toBe(rig.clock.wall + 86_400_000)
  })

  it('a delete that goes on keeps its clock, however many snapshots repeat it', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    pass(rig, 40_000_000)
    await rig.want(dead(), aVm({ vmId: OTHER, name: 'db' }))
    await rig.restart()
    await rig.want(dead())
    expect(destroyAt(rig)).toBe(rig.clock.wall + 46_400_000)
  })

  it('a grace longer than any date is kept for an age, and shown', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead(2n ** 64n - 1n))
    expect(destroyAt(rig)).toBe(rig.clock.wall + 100 * 365 * 86_400_000)
  })

  it('stays in quarantine in the report while its clock cannot be written down', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    rig.records.onSave = () => {
      throw new Fault('host/disk-full', 'transient', {})
    }
    pass(rig, 1_000_000)
    await rig.tick()
    expect(rig.row()).toBeUndefined()
    expect(destroyAt(rig)).toBe(rig.clock.wall + 85_400_000)
    await rig.want(aVm())
    expect(rig.row()).toBeUndefined()
    expect(rig.quarantined()?.detail).toContain('too little free')
    expect(rig.backend.guests.size).toBe(0)
  })

  it('is not stopped before its deletion is durable', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.onSave = () => {
      throw new Fault('host/disk-full', 'transient', {})
    }
    await rig.want(dead())
    expect(rig.backend.guests.size).toBe(1)
    expect(rig.row()).toMatchObject({ reason: 'host/disk-full' })
    expect(rig.row()?.power).toBeUndefined()
  })

  it('is acknowledged only when nothing of it is left, record or not', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.onRemove = () => {
      rig.records.texts.delete(ID)
      throw new Error('directory not empty')
    }
    await rig.want(dead(0n))
    await rig.tick()
    expect(rig.records.of(ID)).toBeUndefined()
    expect(rig.engine.report()).toMatchObject({ destroyed: [], quarantined: [{ vmId: ID }] })
    rig.records.onRemove = () => {}
    await rig.tick()
    expect(rig.engine.report()).toMatchObject({ destroyed: [ID], quarantined: [] })
  })

  it('is not acknowledged while its guest runs, though its record is lost', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.texts.delete(ID)
    rig.backend.fail('destroy', new Fault('vm/stop-failed', 'transient', { detail: 'busy' }))
    await rig.want(dead(0n))
    expect(rig.engine.report().destroyed).toEqual([])
    await rig.tick()
    expect(rig.backend.guests.size).toBe(0)
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('undelete before it was stopped counts it again, and it never stops', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    rig.backend.fail('shutdown', new Fault('vm/stop-failed', 'transient', {}))
    await rig.want(dead())
    await rig.want(aVm())
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.backend.calls.filter((c) => c.startsWith('boot'))).toHaveLength(1)
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('undelete of a stopped VM is admitted again: without room that is said, and its data is kept', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    const stopped = aVm({ powerState: 'stopped' })
    await rig.want(stopped)
    await rig.want(dead())
    await rig.want(dead(), aVm({ vmId: OTHER, name: 'db' }))
    await rig.want(stopped, aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'ready', reason: 'vm/over-capacity' })
    expect(rig.row()?.detail).toBe('No room for web (1 vCPUs wanted, 0 of 1 free).')
    expect(rig.backend.calls).not.toContain(`destroy ${ID}`)
    await rig.want(stopped, aVm({ vmId: OTHER, tombstone: { graceS: 0n } }))
    await rig.tick()
    expect(rig.brief()).toBe('stopped/ready/')
    await rig.want(stopped, aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('undelete of a stopped VM leaves it stopped', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    await rig.want(aVm({ powerState: 'stopped' }))
    expect(rig.brief()).toBe('stopped/ready/')
  })

  it('undelete is admitted again, and waits when there is no room', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    const other = aVm({ vmId: OTHER, name: 'db' })
    await rig.want(aVm())
    await rig.want(dead())
    await rig.want(dead(), other)
    await rig.want(aVm(), other)
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vm/over-capacity' })
    await rig.want(aVm(), aVm({ vmId: OTHER, tombstone: { graceS: 0n } }))
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a wall clock that jumps forward a year shortens nothing', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    rig.clock.wall += 365 * 86_400_000
    await rig.tick()
    expect(rig.backend.calls).not.toContain(`destroy ${ID}`)
    expect(destroyAt(rig)).toBe(rig.clock.wall + 86_400_000)
  })

  it('its clock goes on over an agent restart, and over a host reboot from where it was written down', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    pass(rig, 40_000_000)
    await rig.tick()
    await rig.restart()
    expect(destroyAt(rig)).toBe(rig.clock.wall + 46_400_000)
    rig.host.bootId = 'boot-2'
    rig.host.uptimeMs = 1_000
    await rig.restart()
    expect(destroyAt(rig)).toBe(rig.clock.wall + 46_400_000)
  })
})

describe('a VM no accepted snapshot names', () => {
  it('keeps running, is told as unowned with its spec, and is adopted by naming it again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want()
    await rig.tick(3)
    expect(rig.row()).toMatchObject({ power: 'running', phase: 'ready', unowned: true, spec: { name: 'web' } })
    expect(rig.engine.report().destroyed).toEqual([])
    await rig.want(aVm())
    expect(rig.row()?.unowned).toBe(false)
    expect(rig.row()?.spec).toBeUndefined()
    expect(rig.backend.calls.filter((c) => c.startsWith('boot'))).toHaveLength(1)
  })

  it('is counted against the caps, over an agent restart too', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    await rig.want(aVm())
    await rig.want()
    await rig.restart()
    await rig.want(aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('is not started again when it ends', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want()
    rig.backend.crash(ID)
    await rig.tick(2)
    expect(rig.row()).toMatchObject({ power: 'stopped', unowned: true })
  })

  it('in quarantine it stays stopped and its clock stands still', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(dead())
    pass(rig, 1_000_000)
    await rig.want()
    pass(rig, 900_000_000)
    await rig.tick()
    expect(rig.quarantined()).toMatchObject({ unowned: true })
    expect(rig.quarantined()?.destroyAt).toBeUndefined()
    expect(rig.backend.calls).not.toContain(`destroy ${ID}`)
    await rig.want(dead())
    expect(destroyAt(rig)).toBe(rig.clock.wall + 85_400_000)
  })

  it('is not called unowned before any snapshot was accepted', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.desired = undefined
    await rig.restart()
    expect(rig.row()).toMatchObject({ power: 'running', unowned: false })
  })
})
