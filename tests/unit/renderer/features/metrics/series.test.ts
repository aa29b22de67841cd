import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { HistorySampleSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/metrics_pb.js'
import {
  broken,
  endsInGap,
  gapsOf,
  gapWords,
  type History,
  joined,
  onGrid,
  type Sample,
  sampleOf,
  tailOf,
} from '../../../../../src/renderer/features/metrics/series.ts'

const STEP = 10_000
const HOUR = 3_600_000
const NOW = new Date(2026, 10, 30, 15).getTime()

const at = (atMs: number, cpuPermille = 1): Sample => ({
  ...sampleOf(create(HistorySampleSchema, { at: timestampFromMs(atMs), cpuBusyPermille: cpuPermille })),
})
const history = (times: number[], askedAt = NOW, stepMs = STEP, spanMs = HOUR): History => ({
  stepMs,
  spanMs,
  askedAt,
  samples: times.map((time) => at(time)),
})
const steps = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i * STEP)

describe('a sample of the wire', () => {
  it('has what was measured, and nothing where nothing was', () => {
    const sample = sampleOf(
      create(HistorySampleSchema, { at: timestampFromMs(NOW), diskReadBps: 0n, clockOffsetUs: -5n }),
    )
    expect(sample).toMatchObject({
      atMs: NOW,
      diskReadBps: 0,
      clockOffsetUs: -5,
      netRxBps: undefined,
      cpuPermille: undefined,
    })
  })
})

describe('what is newer', () => {
  it('is asked for alone, in steps as wide as those that are known', () => {
    const known = history(steps(NOW - HOUR, 360))
    expect(tailOf(known, NOW + 25_000)).toEqual({ spanS: 50, samples: 5 })
    expect(tailOf(history([NOW - 180_000], NOW, 180_000, 24 * HOUR), NOW)).toEqual({ spanS: 360, samples: 2 })
  })

  it('is all of it when nothing is known, when much is missing, and when this clock went back', () => {
    expect(tailOf(undefined, NOW)).toBeUndefined()
    expect(tailOf(history([]), NOW)).toBeUndefined()
    expect(tailOf(history(steps(NOW - HOUR, 10)), NOW)).toBeUndefined()
    expect(tailOf(history(steps(NOW - 100_000, 10)), NOW - 60_000)).toBeUndefined()
  })

  it('is all of it when its host named steps of no width, of which no number says how many are missing', () => {
    expect(tailOf(history(steps(NOW - 100_000, 10), NOW, 0), NOW + 25_000)).toBeUndefined()
  })

  it('takes the place of the step that was under way, and lets the oldest go', () => {
    const known = history(steps(NOW - HOUR, 360))
    const tail = {
      ...history([NOW - STEP + 400, NOW + 400], NOW + STEP),
      samples: [at(NOW - STEP + 400, 7), at(NOW + 400, 8)],
    }
    const whole = joined(known, tail)!
    expect(whole.samples.slice(-3).map(({ cpuPermille }) => cpuPermille)).toEqual([1, 7, 8])
    expect(whole.samples.length).toBe(361)
    expect(whole.samples[0]!.atMs).toBeGreaterThanOrEqual(NOW + STEP - HOUR - STEP)
    expect(whole.askedAt).toBe(NOW + STEP)
  })

  it('does not continue steps of another width', () => {
    expect(joined(history([NOW]), history([NOW], NOW, 60_000))).toBeUndefined()
  })

  it('that has nothing in it leaves what is known', () => {
    expect(joined(history([NOW - STEP]), history([], NOW + STEP))?.samples.length).toBe(1)
  })
})

describe('a gap', () => {
  it('is where steps are missing, before the first and behind the last too', () => {
    const samples = [...steps(NOW - 600_000, 10), ...steps(NOW - 200_000, 5)]
    expect(gapsOf(history(samples), NOW - 900_000, NOW)).toEqual([
      { fromMs: NOW - 900_000, toMs: NOW - 600_000 },
      { fromMs: NOW - 500_000, toMs: NOW - 200_000 },
      { fromMs: NOW - 150_000, toMs: NOW },
    ])
  })

  it('at the end means that the newest value is not of now', () => {
    const of = (samples: number[]) => endsInGap(gapsOf(history(samples), NOW - 600_000, NOW), NOW)
    expect(of(steps(NOW - 600_000, 10))).toBe(true)
    expect(of(steps(NOW - 100_000, 10))).toBe(false)
  })

  it('is none for a step that is late or under way', () => {
    const late = [NOW - 50_000, NOW - 40_000, NOW - 25_000].map((time) => time)
    expect(gapsOf(history(late), NOW - 50_000, NOW)).toEqual([])
  })

  it('is said with its times', () => {
    const [from, to] = [new Date(2026, 10, 30, 14, 2), new Date(2026, 10, 30, 14, 20)]
    expect(gapWords({ fromMs: from.getTime(), toMs: to.getTime() }, NOW)).toBe('no data 14:02–14:20')
    const yesterday = new Date(2026, 10, 29, 23, 50).getTime()
    expect(gapWords({ fromMs: yesterday, toMs: to.getTime() }, NOW)).toBe('no data 29 Nov 23:50–14:20')
  })

  it('breaks the line: an empty sample stands in it, and none where there is no gap', () => {
    const gone = broken(history([NOW, NOW + STEP, NOW + 10 * STEP]))
    expect(gone.map(({ cpuPermille }) => cpuPermille)).toEqual([1, 1, undefined, 1])
    expect(broken(history(steps(NOW, 5))).length).toBe(5)
  })

  it('is a hole of a small curve', () => {
    expect(onGrid(history([NOW, NOW + STEP, NOW + 4 * STEP]), ({ cpuPermille }) => cpuPermille)).toEqual([
      1,
      1,
      undefined,
      undefined,
      1,
    ])
    expect(onGrid(history([]), () => 1)).toEqual([])
  })
})
