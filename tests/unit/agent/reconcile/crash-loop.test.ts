import { describe, expect, it } from 'vitest'
import { forgiven, isCrashLoop, noteExit, restartDelayMs } from '../../../../src/agent/reconcile/crash-loop.ts'
import { decodeRecord, encodeRecord, newRecord, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import { aVm, ID, Rig } from './rig.ts'

const at = (uptimeMs: number) => ({ bootId: 'boot-2', uptimeMs })
const whole = (change: Partial<VmRecord> = {}): VmRecord => ({ ...newRecord(aVm()), bootId: 'boot-2', ...change })
/** The record after this many ends, each one second after a start. */
const ended = (ends: number, clean = false): VmRecord => {
  let record = whole()
  for (let i = 0; i < ends; i++) record = noteExit({ ...record, exit: undefined }, { reason: '', clean }, at(1_000))
  return record
}

describe('a VM that ends by itself', () => {
  it('is started again at once the first time and after 5 s the second', () => {
    expect([1, 2].map((ends) => restartDelayMs(ended(ends), at(1_000)))).toEqual([0, 5_000])
  })

  it('is left to a person after the third time in a row', () => {
    expect([1, 2, 3, 4].map((ends) => isCrashLoop(ended(ends)))).toEqual([false, false, true, true])
  })

  it('counts anew once it ran a minute: that end is none of the three', () => {
    const record = noteExit(whole({ crashes: 2, quickEnds: 7 }), { reason: '', clean: false }, at(60_000))
    expect(record).toMatchObject({ crashes: 0, quickEnds: 0 })
    expect(restartDelayMs(record, at(60_000))).toBe(0)
  })

  it('by powering itself off is started ever more rarely, up to 5 minutes, and never left to a person', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((ends) => restartDelayMs(ended(ends, true), at(1_000)) / 1000)
    expect(delays).toEqual([0, 5, 10, 20, 40, 80, 160, 300, 300])
    expect(isCrashLoop(ended(9, true))).toBe(false)
  })

  it('a power-off between crashes breaks the row', () => {
    const off = noteExit({ ...ended(2), exit: undefined }, { reason: '', clean: true }, at(1_000))
    expect(noteExit({ ...off, exit: undefined }, { reason: '', clean: false }, at(1_000)).crashes).toBe(1)
  })

  it('is counted once however often it is looked at', () => {
    const record = noteExit(whole(), { reason: 'why', clean: false }, at(1))
    expect(noteExit(record, { reason: 'other', clean: false }, at(2))).toBe(record)
  })

  it('keeps its counts in the record, and a record of before gives what it has', () => {
    const record = ended(2)
    expect(decodeRecord(encodeRecord(record))).toMatchObject({ crashes: 2, quickEnds: 2 })
    const { quick_ends: _, ...older } = JSON.parse(encodeRecord(record)) as Record<string, unknown>
    expect(decodeRecord(JSON.stringify(older)).quickEnds).toBe(2)
  })

  it('is forgiven whole, and is then down on purpose', () => {
    expect(forgiven(ended(3))).toMatchObject({ crashes: 0, quickEnds: 0, exit: undefined, stopRequested: true })
    const fresh = whole()
    expect(forgiven(fresh)).toBe(fresh)
  })
})

describe('a crash loop', () => {
  const looped = async (): Promise<Rig> => {
    const rig = await Rig.open()
    await rig.want(aVm())
    for (let i = 0; i < 3; i++) {
      rig.backend.crash(ID, 'the kernel of the guest panicked')
      await rig.engine.idle()
      rig.host.uptimeMs += 5_000
      await rig.tick()
    }
    return rig
  }
  const boots = (rig: Rig) => rig.backend.calls.filter((call) => call.startsWith('boot')).length

  it('needs a decision: nothing starts it any more, and the row says why and what to do', async () => {
    await using rig = await looped()
    expect(boots(rig)).toBe(3)
    rig.host.uptimeMs += 24 * 60 * 60_000
    await rig.tick(5)
    expect(boots(rig)).toBe(3)
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vm/crash-loop' })
    expect(rig.row()?.detail).toBe(
      'web ended by itself 3 times in a row, each soon after its start (the kernel of the guest panicked).',
    )
  })

  it('outlives the agent and a reboot of the host', async () => {
    await using rig = await looped()
    await rig.restart()
    expect(rig.row()?.reason).toBe('vm/crash-loop')
    rig.host.bootId = 'boot-2'
    rig.host.uptimeMs = 5_000
    await rig.restart()
    expect(rig.row()?.reason).toBe('vm/crash-loop')
    expect(boots(rig)).toBe(3)
  })

  it.each([
    ['a start asked for', [aVm({ restartCount: 1n })]],
    ['a stop and a start', [aVm({ powerState: 'stopped' }), aVm()]],
    ['a change of the VM', [aVm({ memMb: 1024 })]],
  ])('is over with %s, and the next crash is the first again', async (_why, specs) => {
    await using rig = await looped()
    for (const spec of specs) await rig.want(spec)
    expect(rig.brief()).toBe('running/ready/')
    rig.backend.crash(ID, 'again')
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.records.of(ID)?.crashes).toBe(1)
  })

  it('does not come of a guest that powers itself off', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    for (let i = 0; i < 5; i++) {
      rig.backend.crash(ID, 'the guest powered itself off', true)
      await rig.engine.idle()
      rig.host.uptimeMs += 300_000
      rig.records.saved.length = 0
      await rig.tick()
    }
    expect(rig.brief()).toBe('running/ready/')
    expect(boots(rig)).toBe(6)
  })
})
