import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../src/ipc/faults.ts'
import { aVm, ID, Rig, SHA } from './rig.ts'

const rebooted = (rig: Rig) => {
  rig.backend.guests.clear()
  rig.host.bootId = 'boot-2'
  rig.host.uptimeMs = 5_000
}

describe('converging an existing VM', () => {
  it('the stop is durable before the guest is asked; if it cannot be, the guest is not touched', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.records.onSave = (record) => {
      if (record.stopRequested) throw new Error('no space')
    }
    await rig.want(aVm({ powerState: 'stopped' }))
    expect(rig.backend.calls.filter((c) => c.startsWith('shutdown'))).toEqual([])
    expect(rig.row()).toMatchObject({ power: 'running', phase: 'failed' })
    rig.records.onSave = () => {}
    await rig.tick()
    expect(rig.brief()).toBe('stopped/ready/')
    expect(rig.records.of(ID)?.stopRequested).toBe(true)
  })

  it('a stop that failed is still a stop that was asked for: the guest that ends after it did not end by itself', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.fail('shutdown', new Fault('vm/stop-failed', 'transient', { detail: 'stuck' }))
    await rig.want(aVm({ powerState: 'stopped' }))
    expect(rig.row()).toMatchObject({ power: 'running', phase: 'failed', reason: 'vm/stop-failed' })
    expect(rig.records.of(ID)?.stopRequested).toBe(true)
    rig.backend.guests.clear()
    rig.story.length = 0
    await rig.want(aVm())
    expect(rig.story.join()).not.toContain('by itself')
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM that ended by itself and then was to be stopped is stopped on purpose from then on', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ autostart: false }))
    rig.backend.guests.clear()
    await rig.want(aVm({ autostart: false, powerState: 'stopped' }))
    rebooted(rig)
    await rig.restart()
    rig.story.length = 0
    await rig.want(aVm({ autostart: false }))
    expect(rig.story.join()).not.toContain('by itself')
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM found running in a boot its record does not know was started in it, and its end is told as one', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ autostart: false }))
    rebooted(rig)
    rig.backend.guests.set(ID, { acceleration: 'tcg', startedAt: new Date(0) })
    await rig.restart()
    expect(rig.records.of(ID)?.bootId).toBe('boot-2')
    rig.story.length = 0
    rig.backend.crash(ID)
    await rig.engine.idle()
    expect(rig.story[0]).toBe('stopped/failed/web ended by itself.')
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM that grew past the caps is not restarted into nothing: it runs on and says why', async () => {
    await using rig = await Rig.open({ caps: { memMb: 1_000 } })
    await rig.want(aVm())
    await rig.want(aVm({ memMb: 2_000 }))
    expect(rig.brief()).toBe('running/ready/')
    await rig.want(aVm({ memMb: 2_000, restartCount: 1n }))
    expect(rig.row()).toMatchObject({ power: 'running', reason: 'vm/over-capacity' })
    expect(rig.backend.calls.filter((c) => c.startsWith('shutdown'))).toEqual([])
    await rig.want(aVm({ memMb: 900, restartCount: 1n }))
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)?.admitted?.memMb).toBe(900)
  })

  it('a VM that grew past the caps while it was stopped does not start, over an agent restart either', async () => {
    await using rig = await Rig.open({ caps: { memMb: 1_000 } })
    await rig.want(aVm({ powerState: 'stopped' }))
    await rig.want(aVm({ memMb: 2_000 }))
    expect(rig.row()).toMatchObject({ power: 'stopped', reason: 'vm/over-capacity' })
    await rig.restart()
    expect(rig.row()).toMatchObject({ power: 'stopped', reason: 'vm/over-capacity' })
  })

  it('caps lowered since keep no VM from coming back after a host reboot', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 4 } })
    await rig.want(aVm({ vcpus: 4 }))
    rebooted(rig)
    rig.caps = { vcpus: 1 }
    await rig.restart()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a power state this agent does not know leaves the VM as it is, and says so', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'suspended' }))
    expect(rig.brief()).toBe('running/ready/this agent does not know the power state "suspended"')
    rig.backend.guests.clear()
    await rig.tick()
    expect(rig.brief()).toBe('stopped/ready/this agent does not know the power state "suspended"')
  })

  it('a start clears the stop request, the error and the detail', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    await rig.want(aVm())
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)).toMatchObject({ stopRequested: false, lastError: '', bootId: 'boot-1' })
  })

  it('a running VM comes back after a host reboot and never counts as failed', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rebooted(rig)
    rig.story.length = 0
    await rig.restart()
    expect(rig.story.join()).not.toContain('failed')
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)?.bootId).toBe('boot-2')
  })

  it('a stopped VM stays stopped after a host reboot', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    rebooted(rig)
    await rig.restart()
    expect(rig.brief()).toBe('stopped/ready/')
  })

  it('a VM without autostart stays down after a host reboot until somebody asks', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ autostart: false }))
    rebooted(rig)
    await rig.restart()
    expect(rig.brief()).toBe('stopped/ready/not started again after the host rebooted: autostart is off')
    await rig.want(aVm({ autostart: false, restartCount: 1n }))
    expect(rig.brief()).toBe('running/ready/')
  })

  it('the agent goes on with the last accepted snapshot when it starts without a control plane', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.restart()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.engine.lastSeenEpoch()).toBe(1n)
    expect(rig.backend.calls.filter((c) => c.startsWith('boot'))).toHaveLength(1)
  })

  it('a guest that ended by itself says why, and is started again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.story.length = 0
    rig.host.uptimeMs += 100_000
    rig.backend.crash(ID, 'disk image is broken')
    await rig.engine.idle()
    expect(rig.story[0]).toBe('stopped/failed/web ended by itself (disk image is broken).')
    expect(rig.brief()).toBe('running/ready/')
  })

  it('an end without a reason is still told as one', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.story.length = 0
    rig.backend.crash(ID)
    await rig.engine.idle()
    expect(rig.story[0]).toBe('stopped/failed/web ended by itself.')
  })

  it('a guest that powered itself off is told as that, not as a crash', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.story.length = 0
    rig.backend.crash(ID, 'guest-shutdown', true)
    await rig.engine.idle()
    expect(rig.story[0]).toBe('stopped/failed/web was powered off from inside.')
    rig.backend.crash(ID, 'guest-shutdown', true)
    await rig.engine.idle()
    expect(rig.row()).toMatchObject({ phase: 'failed', reason: 'vm/powered-off' })
    await rig.restart()
    expect(rig.row()).toMatchObject({ phase: 'failed', reason: 'vm/powered-off' })
  })

  it('a guest that keeps ending is started ever more rarely, over agent restarts too', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.crash(ID, 'bad kernel')
    await rig.engine.idle()
    rig.backend.crash(ID, 'bad kernel')
    await rig.engine.idle()
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vm/exited' })
    expect(rig.row()?.detail).toContain('bad kernel; next try in 5 s')
    await rig.restart()
    expect(rig.row()?.phase).toBe('failed')
    rig.host.uptimeMs += 5_000
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a boot that fails says so at once, with what the hypervisor printed, and every tick tries again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.backend.reason = 'no such device'
    rig.backend.fail('boot', new Fault('vm/start-failed', 'transient', {}), 5)
    await rig.want(aVm())
    expect(rig.brief()).toBe('stopped/failed/web did not start. no such device')
    await rig.tick(4)
    expect(rig.row()?.phase).toBe('failed')
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('an address once known stays known when the backend has no answer', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.addresses.set(ID, '10.0.0.2')
    rig.backend.networkAddresses.set(ID, '192.0.2.7')
    await rig.tick()
    expect(rig.records.of(ID)).toMatchObject({ ip: '10.0.0.2', networkIp: '192.0.2.7' })
    rig.backend.addresses.clear()
    rig.backend.networkAddresses.clear()
    await rig.tick()
    expect(rig.row()).toMatchObject({ ip: '10.0.0.2', networkIp: '192.0.2.7' })
  })

  it('a failed row carries both addresses too', async () => {
    await using rig = await Rig.open()
    rig.backend.addresses.set(ID, '10.0.0.2')
    rig.backend.networkAddresses.set(ID, '192.0.2.7')
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.backend.fail('boot', new Error('no'))
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ phase: 'failed', ip: '10.0.0.2', networkIp: '192.0.2.7' })
  })

  it('a restart is done once per rise, with the guest asked first', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ restartCount: 1n }))
    await rig.tick(3)
    const since = rig.backend.calls.slice(3)
    expect(since).toEqual([`shutdown ${ID} 1000`, `boot ${ID}`])
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a restart cut in two by the death of the agent is finished, not forgotten', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.fail('boot', new Error('the agent died here'))
    await rig.want(aVm({ restartCount: 1n }))
    expect(rig.backend.guests.size).toBe(0)
    await rig.restart()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)?.restartCount).toBe(1n)
  })

  it('a forced stop cuts the wait for a deaf guest short', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.deaf.add(ID)
    await rig.send([aVm({ powerState: 'stopped' })])
    await expect.poll(() => rig.backend.calls.at(-1)).toBe(`shutdown ${ID} 1000`)
    expect(rig.brief()).toBe('running/ready/stopping')
    await rig.want(aVm({ powerState: 'stopped', forceStop: true }))
    expect(rig.brief()).toBe('stopped/ready/')
  })

  it('force_stop does not ask the guest at all', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped', forceStop: true }))
    expect(rig.backend.calls.at(-1)).toBe(`shutdown ${ID} 0`)
  })

  it('a running guest in trouble stays running and says so', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.trouble = { code: 'vm/resetting', detail: '6 times within 2 minutes', paused: false }
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/web resets itself over and over (6 times within 2 minutes).')
    expect(rig.row()?.reason).toBe('vm/resetting')
    rig.backend.trouble = undefined
    await rig.tick()
    expect(rig.row()).toMatchObject({ power: 'running', reason: '', detail: '' })
  })

  it('a guest its disk holds up is paused, not failed, and nothing ends it', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.trouble = { code: 'vm/io-error', detail: 'no space left', paused: true }
    await rig.tick(3)
    expect(rig.row()).toMatchObject({ power: 'paused', phase: 'ready', reason: 'vm/io-error' })
    expect(rig.row()?.detail).toBe('web is paused: its host cannot write its disk (no space left).')
    expect(rig.backend.calls.filter((c) => /shutdown|destroy/.test(c))).toEqual([])
  })

  it('a machine type that is gone is named at every try, and the VM starts once it is back', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.backend.reason = 'what an earlier run printed'
    rig.backend.fail('boot', new Fault('vmm/machine-gone', 'permanent', { machine: 'pc-q35-7.2' }), 2)
    await rig.want(aVm())
    await rig.tick()
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vmm/machine-gone' })
    expect(rig.row()?.detail).toContain('machine type pc-q35-7.2')
    expect(rig.row()?.detail).not.toContain('an earlier run')
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('an image that is not here any more is fetched, or waited for, before the VM starts', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.images.whole.clear()
    await rig.want(aVm())
    expect(rig.images.fetches).toBe(2)
    expect(rig.brief()).toBe('running/ready/')
    await rig.want(aVm({ imageUrl: '', powerState: 'stopped' }))
    rig.images.whole.clear()
    await rig.want(aVm({ imageUrl: '' }))
    expect(rig.brief()).toBe('stopped/ready/waiting for the image')
    expect(rig.engine.report().wantedImages).toMatchObject([{ sha256: SHA }])
    rig.images.push(SHA)
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('converging never builds a seed or a disk again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped', cloudInit: Buffer.from('other') }))
    await rig.want(aVm({ cloudInit: Buffer.from('other') }))
    expect(rig.seeds).toHaveLength(1)
    expect(rig.backend.calls.filter((c) => c.startsWith('prepareRootDisk'))).toHaveLength(1)
  })
})
