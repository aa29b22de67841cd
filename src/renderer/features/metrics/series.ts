import type { HistorySample } from '../../../ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { formatMoment } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'

/** What was measured in one step; undefined = not measured, which is never zero. */
export interface Sample {
  /** Where the step begins. */
  atMs: number
  cpuPermille: number | undefined
  memBytes: number | undefined
  diskReadBps: number | undefined
  diskWriteBps: number | undefined
  netRxBps: number | undefined
  netTxBps: number | undefined
  clockOffsetUs: number | undefined
}

/** Oldest first; a step without one is a gap. */
export interface History {
  stepMs: number
  samples: readonly Sample[]
  /** How far back it was asked for. */
  spanMs: number
  /** When its host was asked for the newest of them. */
  askedAt: number
}

const numberOf = (value: bigint | undefined): number | undefined => (value === undefined ? undefined : Number(value))

export function sampleOf(wire: HistorySample): Sample {
  return {
    atMs: msOf(wire.at) ?? 0,
    cpuPermille: wire.cpuBusyPermille,
    memBytes: numberOf(wire.memUsedBytes),
    diskReadBps: numberOf(wire.diskReadBps),
    diskWriteBps: numberOf(wire.diskWriteBps),
    netRxBps: numberOf(wire.netRxBps),
    netTxBps: numberOf(wire.netTxBps),
    clockOffsetUs: numberOf(wire.clockOffsetUs),
  }
}

/** Steps at least to ask for again when only what is newer is wanted: the newest known one may not have been over. */
const TAIL_STEPS = 2

/** What to ask for so that it continues what is known with the same steps; undefined = all of it must be asked for. */
export function tailOf(known: History | undefined, now: number): { spanS: number; samples: number } | undefined {
  const last = known?.samples.at(-1)
  if (!known || !last || known.stepMs <= 0 || now < known.askedAt) return undefined
  const steps = Math.max(TAIL_STEPS, Math.ceil((now - last.atMs) / known.stepMs) + 1)
  return steps * known.stepMs > known.spanMs / 2 ? undefined : { spanS: (steps * known.stepMs) / 1000, samples: steps }
}

/** What is known with what is newer behind it, no longer than the span. Undefined = the two have other steps. */
export function joined(known: History, tail: History): History | undefined {
  if (known.stepMs !== tail.stepMs) return undefined
  const { spanMs } = known
  const first = tail.samples[0]?.atMs ?? Number.POSITIVE_INFINITY
  // The clocks of two answers may differ by less than a step.
  const before = known.samples.filter(({ atMs }) => atMs < first - known.stepMs / 2)
  const samples = [...before, ...tail.samples].filter(({ atMs }) => atMs >= tail.askedAt - spanMs - known.stepMs)
  return { ...tail, spanMs, samples }
}

/** A stretch of time of which nothing is known. */
export interface Gap {
  fromMs: number
  toMs: number
}

/** Steps that may be missing before it is a gap: a look that came late is none. */
const LATE_STEPS = 1.5
/** The newest step is under way, and its host is asked only so often, ms. */
const UNDERWAY_MS = 30_000

/** Where nothing was measured between `fromMs` and `toMs`. */
export function gapsOf({ samples, stepMs }: Pick<History, 'samples' | 'stepMs'>, fromMs: number, toMs: number): Gap[] {
  const gaps: Gap[] = []
  let known = fromMs
  for (const { atMs } of samples) {
    if (atMs - known > LATE_STEPS * stepMs) gaps.push({ fromMs: known, toMs: atMs })
    known = atMs + stepMs
  }
  if (toMs - known > LATE_STEPS * stepMs + UNDERWAY_MS) gaps.push({ fromMs: known, toMs })
  return gaps
}

/** Nothing is known of the end: the newest value is not that of now. */
export const endsInGap = (gaps: readonly Gap[], toMs: number): boolean => gaps.at(-1)?.toMs === toMs

/** How the words for a gap begin. */
export const NO_DATA = 'no data'

/** `no data 14:02–14:20`. */
export function gapWords({ fromMs, toMs }: Gap, now: number): string {
  const [from, to] = [new Date(fromMs), new Date(toMs)]
  const same = from.toDateString() === to.toDateString()
  return `${NO_DATA} ${formatMoment(from, new Date(now))}–${formatMoment(to, same ? from : new Date(now))}`
}

/** Samples with an empty one in each gap, so that no line is drawn across it. */
export function broken({ samples, stepMs }: Pick<History, 'samples' | 'stepMs'>): Sample[] {
  return samples.flatMap((sample, i) => {
    const before = samples[i - 1]
    const isAfterGap = before && sample.atMs - before.atMs > (1 + LATE_STEPS) * stepMs - stepMs / 2
    return isAfterGap ? [emptyAt(before.atMs + stepMs), sample] : [sample]
  })
}

const emptyAt = (atMs: number): Sample => ({
  atMs,
  ...{ cpuPermille: undefined, memBytes: undefined, diskReadBps: undefined, diskWriteBps: undefined },
  ...{ netRxBps: undefined, netTxBps: undefined, clockOffsetUs: undefined },
})

/** One value for each step from the first sample to the last; undefined = a gap. */
export function onGrid(
  { samples, stepMs }: History,
  of: (sample: Sample) => number | undefined,
): (number | undefined)[] {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last) return []
  const values: (number | undefined)[] = Array.from({ length: Math.round((last.atMs - first.atMs) / stepMs) + 1 })
  for (const sample of samples) values[Math.round((sample.atMs - first.atMs) / stepMs)] = of(sample)
  return values
}
