import { describe, expect, it } from 'vitest'
import { ratesOf } from '../../../../src/agent/history/rates.ts'
import { RAW_MS, RAW_SLOTS, RawRing } from '../../../../src/agent/history/raw-ring.ts'
import { merge, putSlot, readSlot, type Sample, SLOT_WORDS } from '../../../../src/agent/history/slot.ts'
import { inSteps, placedRaw } from '../../../../src/agent/history/timeline.ts'

function kept(sample: Sample): Sample | undefined {
  const words = new Uint16Array(SLOT_WORDS)
  putSlot(words, 0, sample)
  return readSlot(words, 0)
}

describe('a slot of 16 bytes', () => {
  it('keeps each measure within half a thousandth, and small ones exactly', () => {
    for (const value of [0, 1, 999, 1023, 1024, 2047, 4095, 123_456, 2 ** 31, 5.4e9, 9.7e12, 2 ** 60]) {
      const read = kept({ memUsedBytes: value })!.memUsedBytes!
      expect(Math.abs(read - value)).toBeLessThanOrEqual(value / 2000)
    }
    expect(kept({ cpuBusyPermille: 1999, diskReadBps: 0 })).toEqual({ cpuBusyPermille: 1999, diskReadBps: 0 })
  })

  it('keeps on which side a clock is off', () => {
    for (const value of [-41_200_000, -3, 0, 250, 7_000_000_000])
      expect(Math.abs(kept({ clockOffsetUs: value })!.clockOffsetUs! - value)).toBeLessThanOrEqual(
        Math.abs(value) / 2000,
      )
  })

  it('is no sample where nothing was measured, and never takes absent for zero', () => {
    expect(kept({})).toBeUndefined()
    expect(kept({ netRxBps: 5 })).toEqual({ netRxBps: 5 })
  })

  it('holds what is too large for it as the largest it can', () => {
    expect(kept({ diskUsedBytes: 2 ** 80 })!.diskUsedBytes!).toBeGreaterThan(2 ** 70)
    expect(kept({ clockOffsetUs: -(2 ** 60) })!.clockOffsetUs!).toBeLessThan(-(2 ** 38))
  })
})

describe('samples made one', () => {
  it('are the average of rates and the last of levels', () => {
    const both = merge([
      { cpuBusyPermille: 100, memUsedBytes: 10, clockOffsetUs: 5 },
      { cpuBusyPermille: 300, memUsedBytes: 20 },
    ])
    expect(both).toEqual({ cpuBusyPermille: 200, memUsedBytes: 20, clockOffsetUs: 5 })
  })

  it('are a gap when none of them has anything', () => {
    expect(merge([undefined, undefined])).toBeUndefined()
    expect(merge([undefined, { netTxBps: 8 }])).toEqual({ netTxBps: 8 })
  })
})

describe('a rate', () => {
  const at = (atMs: number, diskRead: bigint | undefined) => ({ atMs, diskRead })

  it('is bytes a second between two looks', () => {
    expect(ratesOf(at(0, 1000n), at(10_000, 51_000n)).diskReadBps).toBe(5000)
  })

  it('is not known at the first look, nor where a counter began anew: a restart is not a negative rate, nor a huge one', () => {
    expect(ratesOf(undefined, at(0, 1n)).diskReadBps).toBeUndefined()
    expect(ratesOf(at(0, 9000n), at(10_000, 10n)).diskReadBps).toBeUndefined()
    expect(ratesOf(at(0, undefined), at(10_000, 10n)).diskReadBps).toBeUndefined()
  })

  it('is not known across a sleep of the host', () => {
    expect(ratesOf(at(0, 0n), at(3_600_000, 10n)).diskReadBps).toBeUndefined()
  })
})

describe('the last hour', () => {
  const values = (ring: RawRing, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ring.at(from + i)?.cpuBusyPermille)

  it('has one sample for each ten seconds, and no hole where a look came a little late', () => {
    const ring = new RawRing()
    for (const [at, cpuBusyPermille] of [
      [1_000, 1],
      [9_900, 2],
      [30_100, 3],
    ] as const)
      ring.put(at, { cpuBusyPermille })
    expect(values(ring, 0, 4)).toEqual([2, 3, 3, 3])
  })

  it('has a hole where nobody looked', () => {
    const ring = new RawRing()
    ring.put(5_000, { cpuBusyPermille: 1 })
    ring.put(65_000, { cpuBusyPermille: 2 })
    expect(values(ring, 0, 7)).toEqual([1, undefined, undefined, undefined, undefined, undefined, 2])
  })

  it('forgets what is older, whatever was in its place', () => {
    const ring = new RawRing()
    for (let slot = 0; slot < RAW_SLOTS + 3; slot++) ring.put(slot * RAW_MS, { cpuBusyPermille: slot })
    expect(values(ring, 0, 4)).toEqual([undefined, undefined, undefined, 3])
    ring.put((3 * RAW_SLOTS + 1) * RAW_MS, { cpuBusyPermille: 9 })
    expect(placedRaw(ring, 0)).toEqual([{ atMs: (3 * RAW_SLOTS + 1) * RAW_MS, sample: { cpuBusyPermille: 9 } }])
  })
})

describe('fewer, wider steps', () => {
  const placed = Array.from({ length: 60 }, (_, i) => ({
    atMs: i * 10_000,
    sample: { cpuBusyPermille: i, memUsedBytes: i },
  }))

  it('are never more than asked for, and the newest is among them', () => {
    for (const samples of [2, 7, 60, 1440]) {
      const { stepMs, steps } = inSteps(placed, 599_000, { spanMs: 600_000, samples, baseMs: 10_000 })
      expect(steps.length).toBeLessThanOrEqual(samples)
      expect(steps.at(-1)!.sample.memUsedBytes).toBe(59)
      expect(steps.every(({ atMs }) => atMs % stepMs === 0)).toBe(true)
    }
  })

  it('average rates, take the last of levels, and keep a gap', () => {
    const holed = placed.filter(({ atMs }) => atMs < 60_000 || atMs >= 120_000)
    const { steps } = inSteps(holed, 179_999, { spanMs: 180_000, samples: 3, baseMs: 10_000 })
    expect(steps).toEqual([
      { atMs: 0, sample: { cpuBusyPermille: 2.5, memUsedBytes: 5 } },
      { atMs: 120_000, sample: { cpuBusyPermille: 14.5, memUsedBytes: 17 } },
    ])
  })
})
