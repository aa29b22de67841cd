import { offsetWords } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatBytes, formatMemoryBytes, formatPermille } from '../../lib/format.ts'
import type { Sample } from './series.ts'

/** One line of a chart. */
export interface Line {
  label: string
  of: (sample: Sample) => number | undefined
}

/** One chart: what it shows, in which words, on which scale. Pure. */
export interface Chart {
  id: string
  title: string
  lines: readonly Line[]
  /** A value as people say it. */
  say: (value: number) => string
  /** The same beside the axis, short. */
  tick: (value: number) => string
  /** Ends of the scale for these extremes; undefined = nothing was measured. */
  range: (low: number, high: number) => [number, number]
  /** Distances between the lines of its grid; absent = decimal ones. */
  steps?: readonly number[]
  /** Why nothing may be measured. */
  whyNone: string
}

export const SPANS = [
  { id: '1h', label: '1 h', words: 'the last hour', ms: 3_600_000, samples: 360 },
  { id: '6h', label: '6 h', words: 'the last 6 hours', ms: 6 * 3_600_000, samples: 360 },
  { id: '24h', label: '24 h', words: 'the last 24 hours', ms: 24 * 3_600_000, samples: 480 },
] as const
export type Span = (typeof SPANS)[number]

const rate = (bps: number) => `${formatBytes(bps)}/s`
/** Room above the highest value. */
const HEADROOM = 1.15
/** A scale of rates ends here at least, bytes a second: noise is not blown up to a storm. */
const LEAST_RATE = 10_000
/** A scale of offsets reaches this far at least, µs. */
const LEAST_OFFSET = 5_000

/** Of a memory, which is counted in them: 16 MiB to 16 TiB. */
const POWERS_OF_TWO = Array.from({ length: 21 }, (_, i) => 2 ** (24 + i))

const upTo =
  (top: number): Chart['range'] =>
  (_, high) => [0, Math.max(top, high)]
const rates: Chart['range'] = (_, high) => [0, Math.max(LEAST_RATE, high * HEADROOM)]
const around: Chart['range'] = (low, high) => {
  const far = Math.max(LEAST_OFFSET, Math.abs(low), Math.abs(high)) * HEADROOM
  return [-far, far]
}

const cpu = (vcpus: number): Chart => ({
  id: 'cpu',
  title: 'CPU',
  lines: [{ label: 'At work', of: ({ cpuPermille }) => (cpuPermille === undefined ? undefined : cpuPermille / vcpus) }],
  say: formatPermille,
  tick: (value) => `${Math.round(value / 10)} %`,
  range: upTo(1000),
  whyNone: 'The host does not say what its CPUs do.',
})

const memory = (label: string, total: number): Chart => ({
  id: 'memory',
  title: 'Memory',
  lines: [{ label, of: ({ memBytes }) => memBytes }],
  say: formatMemoryBytes,
  tick: formatMemoryBytes,
  range: upTo(total),
  steps: POWERS_OF_TWO,
  whyNone: 'The host does not say how much memory is taken.',
})

const disk: Chart = {
  id: 'disk',
  title: 'Disk',
  lines: [
    { label: 'Read', of: ({ diskReadBps }) => diskReadBps },
    { label: 'Written', of: ({ diskWriteBps }) => diskWriteBps },
  ],
  say: rate,
  tick: rate,
  range: rates,
  whyNone: 'The host does not count what is read and written.',
}

const network = (whyNone: string): Chart => ({
  id: 'network',
  title: 'Network',
  lines: [
    { label: 'Received', of: ({ netRxBps }) => netRxBps },
    { label: 'Sent', of: ({ netTxBps }) => netTxBps },
  ],
  say: rate,
  tick: rate,
  range: rates,
  whyNone,
})

const clock = (label: string, whyNone: string): Chart => ({
  id: 'clock',
  title: 'Clock offset',
  lines: [{ label, of: ({ clockOffsetUs }) => clockOffsetUs }],
  say: (us) => (Math.round(us) === 0 ? '0 ms' : offsetWords(BigInt(Math.round(us)))),
  tick: offsetTick,
  range: around,
  whyNone,
})

/** `+5 ms`, `−1.2 s`. */
function offsetTick(us: number): string {
  const sign = us === 0 ? '' : us < 0 ? '−' : '+'
  const ms = Math.abs(us) / 1000
  if (ms >= 60_000) return `${sign}${Number((ms / 60_000).toFixed(1))} min`
  return ms >= 1000 ? `${sign}${Number((ms / 1000).toFixed(1))} s` : `${sign}${Number(ms.toFixed(1))} ms`
}

export const guestClockChart = clock(
  'Against its host',
  'Nothing in the guest tells its time: that needs the guest agent (qemu-guest-agent).',
)

export function hostCharts({ metrics }: Host): Chart[] {
  return [
    cpu(1),
    memory('In use', Number(metrics?.memTotalBytes ?? 0n)),
    disk,
    network('The host has no network card of its own to count at.'),
    clock('Against its source', 'No time service on the host says how far off it is.'),
  ]
}

export function vmCharts({ vcpus, memMb }: Vm): Chart[] {
  return [
    cpu(Math.max(1, vcpus)),
    memory('On the host', memMb * 1024 ** 2),
    disk,
    network('Nothing on the host counts it: the guest is in user-mode networking.'),
    guestClockChart,
  ]
}

/** `Read 1.2 MB/s, written not measured`. */
export function sayLines({ lines, say }: Chart, sample: Sample | undefined): string {
  return lines
    .map(({ label, of }, i) => {
      const value = sample && of(sample)
      const name = i === 0 ? label : label.toLowerCase()
      return `${name} ${value === undefined ? 'not measured' : say(value)}`
    })
    .join(', ')
}

/** Lowest and highest of all lines; undefined = none of them has anything. */
export function extremes({ lines }: Chart, samples: readonly Sample[]): [number, number] | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const sample of samples)
    for (const { of } of lines) {
      const value = of(sample)
      if (value === undefined) continue
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
  return high < low ? undefined : [low, high]
}
