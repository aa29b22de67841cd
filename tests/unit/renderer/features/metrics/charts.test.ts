import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HostSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { HistorySampleSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { VmSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { extremes, hostCharts, sayLines, vmCharts } from '../../../../../src/renderer/features/metrics/charts.ts'
import { createCrosshair, nearest } from '../../../../../src/renderer/features/metrics/crosshair.ts'
import { inTurn } from '../../../../../src/renderer/features/metrics/in-turn.ts'
import { type Sample, sampleOf } from '../../../../../src/renderer/features/metrics/series.ts'
import { sparkPaths } from '../../../../../src/renderer/features/metrics/spark-paths.ts'

const sample = (values: Partial<Sample>): Sample => ({ ...sampleOf(create(HistorySampleSchema, {})), ...values })
const host = hostCharts(create(HostSchema, { metrics: { memTotalBytes: 8n * 1024n ** 3n } }))
const vm = vmCharts(create(VmSchema, { vcpus: 4, memMb: 2048 }))
const chart = (charts: typeof host, id: string) => charts.find((one) => one.id === id)!

describe('charts', () => {
  it('are CPU, memory, disk, network and clock for a host and for a VM', () => {
    const ids = ['cpu', 'memory', 'disk', 'network', 'clock']
    expect([host.map(({ id }) => id), vm.map(({ id }) => id)]).toEqual([ids, ids])
  })

  it('show the CPU of a VM as a share of its own CPUs, as its page does', () => {
    expect(sayLines(chart(vm, 'cpu'), sample({ cpuPermille: 2000 }))).toBe('At work 50 %')
    expect(sayLines(chart(host, 'cpu'), sample({ cpuPermille: 500 }))).toBe('At work 50 %')
  })

  it('say rates, memory and offsets in the words of the app, and what was not measured as that', () => {
    expect(sayLines(chart(vm, 'disk'), sample({ diskReadBps: 1_200_000 }))).toBe('Read 1.2 MB/s, written not measured')
    expect(sayLines(chart(host, 'memory'), sample({ memBytes: 2 * 1024 ** 3 }))).toBe('In use 2 GB')
    expect(sayLines(chart(vm, 'clock'), sample({ clockOffsetUs: -41_200_000 }))).toBe('Against its host 41.2 s behind')
    expect(sayLines(chart(vm, 'clock'), undefined)).toBe('Against its host not measured')
  })

  it('have a scale that does not blow up what is small, nor cut what is large', () => {
    expect(chart(host, 'cpu').range(0, 12)).toEqual([0, 1000])
    expect(chart(host, 'memory').range(0, 1)).toEqual([0, 8 * 1024 ** 3])
    expect(chart(vm, 'network').range(0, 3)[1]).toBe(10_000)
    const [low, high] = chart(vm, 'clock').range(-41_200_000, 5)
    expect([low < -41_200_000, high]).toEqual([true, -low])
  })

  it('know when a line has nothing at all, which is not zero', () => {
    expect(extremes(chart(vm, 'network'), [sample({ diskReadBps: 5 })])).toBeUndefined()
    expect(extremes(chart(vm, 'network'), [sample({ netRxBps: 0 }), sample({ netTxBps: 9 })])).toEqual([0, 9])
  })

  it('mark an axis of offsets with a sign and a unit', () => {
    const { tick } = chart(vm, 'clock')
    expect([5000, -1_500_000, 0, 120_000_000].map(tick)).toEqual(['+5 ms', '−1.5 s', '0 ms', '+2 min'])
  })
})

describe('a small curve', () => {
  it('has one path for each stretch, and a dot for a stretch of one', () => {
    expect(sparkPaths([1, 2, undefined, 3], 88, 20, 0).length).toBe(2)
    expect(sparkPaths([1, 2, undefined, 3], 88, 20, 0)[1]).toBe('M86.0 2.0L86.0 2.0')
    expect(sparkPaths([undefined], 88, 20, 0)).toEqual([])
  })

  it('of values nearly the same is flat in the middle', () => {
    expect(sparkPaths([5, 5], 88, 20, 0)).toEqual(['M2.0 10.0L86.0 10.0'])
    expect(sparkPaths([0, 1], 88, 20, 1000)[0]).toMatch(/^M2\.0 10\.0L86\.0 10\.0$/)
  })
})

describe('questions for small curves', () => {
  it('go out two at a time, and a refused one lets the next go', async () => {
    const ends: (() => void)[] = []
    let open = 0
    const ask = () =>
      inTurn(async () => {
        open++
        await new Promise<void>((resolve, reject) =>
          ends.push(ends.length === 0 ? () => reject(new Error('no')) : resolve),
        )
        open--
      })
    const all = Promise.allSettled([ask(), ask(), ask(), ask()])
    await Promise.resolve()
    expect([open, ends.length]).toEqual([2, 2])
    for (let i = 0; i < 4; i++) {
      ends[i]!()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  })
})

describe('what is pointed at', () => {
  const samples = [0, 10, 20, 60].map((atMs) => ({ atMs }))

  it('is the sample nearest to the moment, at the ends the last one', () => {
    expect([-5, 4, 6, 39, 41, 99].map((at) => nearest(samples, at))).toEqual([0, 0, 1, 2, 3, 3])
    expect(nearest([], 5)).toBe(-1)
  })

  it('is told to every chart of the group once, and stays the same moment when samples come and go', () => {
    const crosshair = createCrosshair()
    const seen: unknown[] = []
    const stop = crosshair.subscribe(() => seen.push(crosshair.at()))
    for (const at of [20, 20, undefined]) crosshair.move(at)
    stop()
    crosshair.move(10)
    expect(seen).toEqual([20, undefined])
  })
})
