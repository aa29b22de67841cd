import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VM_FILES_BYTES } from '../../../../src/agent/os/disk-space.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { aVm, ID, Rig } from './rig.ts'

const enospc = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
const NUMBERS = /^The host has [\d.]+ \w+ free in \/.*; this needs [\d.]+ \w+ beside the 256 MiB kept free\.$/

describe('a VM on a full disk', () => {
  let rig: Rig
  beforeEach(async () => {
    rig = await Rig.open()
  })
  afterEach(() => rig[Symbol.asyncDispose]())

  it('waits with the numbers, spends no attempt, and is made once there is room', async () => {
    rig.images.onFetch = async () => {
      throw enospc()
    }
    await rig.want(aVm())
    for (let tick = 0; tick < 5; tick++) await rig.tick()
    expect(rig.row()).toMatchObject({ phase: 'creating', reason: 'host/disk-full' })
    expect(rig.row()?.detail).toMatch(NUMBERS)
    expect(rig.records.of(ID)?.createAttempts).toBe(0)
    rig.images.onFetch = async () => {}
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('is not begun where its own files do not fit', async () => {
    const asked: number[] = []
    rig.images.requireRoom = async (bytes) => {
      asked.push(bytes)
      throw new Fault('host/disk-full', 'transient', { where: '/x', free: '1 MiB', needed: '4 MiB' })
    }
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ phase: 'creating', reason: 'host/disk-full' })
    expect(asked).toEqual([VM_FILES_BYTES])
    expect(rig.seeds).toEqual([])
  })

  it('says the numbers that the step itself named', async () => {
    rig.images.onFetch = async () => {
      throw new Fault('host/disk-full', 'transient', {
        where: '/x',
        free: '1 MiB',
        needed: '3 GiB',
        reserve: '256 MiB',
      })
    }
    await rig.want(aVm())
    expect(rig.row()?.detail).toBe('The host has 1 MiB free in /x; this needs 3 GiB beside the 256 MiB kept free.')
  })

  it('that exists says the numbers when it cannot be started', async () => {
    await rig.want(aVm({ powerState: 'stopped' }))
    rig.records.onSave = (record) => {
      if (!record.stopRequested) throw enospc()
    }
    await rig.want(aVm())
    expect(rig.row()?.reason).toBe('host/disk-full')
    expect(rig.row()?.detail).toMatch(NUMBERS)
  })
})
