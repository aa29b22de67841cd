import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../src/ipc/faults.ts'
import { aVm, ID, Rig } from './rig.ts'

const grows = (rig: Rig) => rig.backend.calls.filter((call) => call.startsWith('growDisk'))
const rebooted = (rig: Rig) => {
  rig.backend.guests.clear()
  rig.host.bootId = 'boot-2'
  rig.host.uptimeMs = 5_000
}

describe('an edited VM', () => {
  it('runs on with what it was started with, says which fields wait for its next start, and has them after it', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    expect(rig.row()?.needsRestart).toEqual([])
    await rig.want(aVm({ vcpus: 2, memMb: 1024, name: 'www', clockPolicy: 'windows-domain' }))
    expect(rig.row()).toMatchObject({
      power: 'running',
      detail: '',
      needsRestart: ['vcpus', 'mem_mb', 'name', 'clock_policy'],
    })
    expect(rig.backend.calls.filter((call) => call.startsWith('shutdown'))).toEqual([])
    await rig.want(aVm({ vcpus: 2, memMb: 1024, name: 'www', clockPolicy: 'windows-domain', restartCount: 1n }))
    expect(rig.row()).toMatchObject({ power: 'running', needsRestart: [] })
  })

  it('whose clock is kept by somebody else on the same hardware has nothing to wait for', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ clockPolicy: 'host-only' }))
    expect(rig.row()?.needsRestart).toEqual([])
  })

  it('that is changed back waits for nothing', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ memMb: 1024 }))
    await rig.want(aVm())
    expect(rig.row()?.needsRestart).toEqual([])
  })

  it('waits for its next start over an agent restart too, and not after a reboot of the host', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ memMb: 1024 }))
    await rig.restart()
    expect(rig.row()?.needsRestart).toEqual(['mem_mb'])
    rebooted(rig)
    await rig.restart()
    expect(rig.row()).toMatchObject({ power: 'running', needsRestart: [] })
  })

  it('that does not run waits for nothing: its next start has it all', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'stopped' }))
    await rig.want(aVm({ powerState: 'stopped', memMb: 1024 }))
    expect(rig.row()).toMatchObject({ power: 'stopped', detail: '', needsRestart: [] })
  })

  it('which an older agent started says so of the sizes it was granted', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    const old = JSON.parse(rig.records.texts.get(ID)!)
    delete old.started
    delete old.disk_gb
    rig.records.texts.set(ID, JSON.stringify(old))
    await rig.want(aVm({ memMb: 1024, name: 'www' }))
    expect(rig.row()?.needsRestart).toEqual(['mem_mb'])
    expect(grows(rig)).toEqual([])
  })

  it('gets a larger disk while it runs, once, and keeps it over an agent restart', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ diskGb: 20 }))
    await rig.tick()
    await rig.restart()
    expect(grows(rig)).toEqual([`growDisk ${ID} 20`])
    expect(rig.row()).toMatchObject({ power: 'running', needsRestart: [], detail: '' })
    expect(rig.records.of(ID)).toMatchObject({ diskGb: 20, admitted: { vcpus: 1, memMb: 512, diskGb: 20 } })
  })

  it('gets a larger disk while it is off', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'stopped' }))
    await rig.want(aVm({ powerState: 'stopped', diskGb: 20 }))
    expect(grows(rig)).toEqual([`growDisk ${ID} 20`])
  })

  it('whose disk cannot grow under the running guest waits for its next start, and has it then', async () => {
    await using rig = await Rig.open()
    rig.backend.stiff.add(ID)
    await rig.want(aVm())
    await rig.want(aVm({ diskGb: 20 }))
    expect(rig.row()).toMatchObject({ power: 'running', needsRestart: ['disk_gb'] })
    await rig.want(aVm({ diskGb: 20, restartCount: 1n }))
    expect(rig.row()).toMatchObject({ power: 'running', needsRestart: [] })
    expect(rig.backend.calls.slice(-3)).toEqual([`shutdown ${ID} 1000`, `growDisk ${ID} 20`, `boot ${ID}`])
  })

  it('whose disk did not grow runs on, says why, and it is tried again', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.backend.fail('growDisk', new Fault('vmm/failed', 'transient', { detail: 'no' }))
    await rig.want(aVm({ diskGb: 20 }))
    expect(rig.row()).toMatchObject({ power: 'running', phase: 'ready', reason: 'vmm/failed' })
    await rig.tick()
    expect(rig.row()).toMatchObject({ power: 'running', reason: '', detail: '' })
    expect(rig.records.of(ID)?.diskGb).toBe(20)
  })

  it('whose disk does not grow starts all the same', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.backend.fail('growDisk', new Fault('vmm/failed', 'transient', { detail: 'no' }), 2)
    await rig.want(aVm({ diskGb: 20 }))
    expect(rig.row()?.power).toBe('running')
  })

  it('never has its disk cut: it keeps its size and says so', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ diskGb: 20 }))
    await rig.want(aVm({ diskGb: 5 }))
    expect(rig.brief()).toBe('running/ready/its disk stays at 20 GiB: a disk is never made smaller')
    await rig.want(aVm({ diskGb: 5, restartCount: 1n }))
    expect(grows(rig)).toEqual([])
    expect(rig.records.of(ID)?.diskGb).toBe(20)
  })

  it('gets no larger disk than its host has for VMs, and gets it once there is room', async () => {
    await using rig = await Rig.open({ caps: { diskGb: 30 } })
    const other = aVm({ vmId: 'b'.repeat(32), name: 'db', diskGb: 15 })
    await rig.want(aVm(), other)
    await rig.want(aVm({ diskGb: 20 }), other)
    expect(rig.row()).toMatchObject({ power: 'running', phase: 'ready', reason: 'vm/over-capacity' })
    expect(grows(rig)).toEqual([])
    await rig.want(aVm({ diskGb: 20 }))
    await rig.send([
      aVm({ diskGb: 20 }),
      { ...other, tombstone: { $typeName: 'eitri.agent.v1.Tombstone', graceS: 0n } },
    ])
    await rig.engine.idle()
    await rig.tick(2)
    expect(rig.row()).toMatchObject({ power: 'running', reason: '' })
    expect(grows(rig)).toEqual([`growDisk ${ID} 20`])
  })

  it('that failed for good gets a fresh budget, whatever was changed', async () => {
    for (const change of [{ memMb: 1024 }, { diskGb: 20 }, { autostartOrder: 3 }]) {
      await using rig = await Rig.open()
      rig.backend.fail('prepareRootDisk', new Fault('vmm/failed', 'permanent', { detail: 'no' }))
      await rig.want(aVm())
      expect(rig.row()?.phase).toBe('failed')
      await rig.tick(3)
      expect(rig.row()?.phase).toBe('failed')
      await rig.want(aVm(change))
      expect(rig.row()).toMatchObject({ power: 'running', phase: 'ready' })
    }
  })
})
