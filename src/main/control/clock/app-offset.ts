/** Kept per host: the report that was least delayed of these is believed. */
const SAMPLES = 3
/** This computer's wall clock moved against its monotonic one by more, ms: it was set, or slept. */
const STEPPED_MS = 100
/** Clocks on the wire are told to the millisecond. */
const GRAIN_MS = 1
/** A host may claim any time; clients are told no more than a hundred years, which int64 microseconds hold. */
const FURTHEST_MS = 100 * 365 * 86_400_000

/** One report's worth of a host's clock. */
export interface ClockSample {
  /** Host's clock when it built the report minus this computer's when it came, ms: too low by the way here. */
  rawMs: number
  /** Of the last ping on that link, ms. */
  roundTripMs: number
  /** This computer's wall clock minus its monotonic one, ms. */
  baseMs: number
}

export interface ClockComparison {
  /** Host minus this computer. */
  offsetMs: number
  /** It is known no better than this. */
  uncertaintyMs: number
}

/** The samples to keep once this one came: none from before this computer's clock was set. */
export function withSample(samples: readonly ClockSample[], sample: ClockSample): ClockSample[] {
  const same = samples.filter(({ baseMs }) => Math.abs(baseMs - sample.baseMs) < STEPPED_MS)
  const rawMs = Math.max(-FURTHEST_MS, Math.min(FURTHEST_MS, sample.rawMs))
  return [...same, { ...sample, rawMs }].slice(-SAMPLES)
}

/** The way takes no less than nothing and, on a link that is not busy, no more than a round trip: the middle is taken. Undefined = no samples. */
export function comparisonOf(samples: readonly ClockSample[]): ClockComparison | undefined {
  const [best] = [...samples].sort((a, b) => b.rawMs - a.rawMs)
  if (!best) return undefined
  const half = best.roundTripMs / 2
  return { offsetMs: best.rawMs + half, uncertaintyMs: half + GRAIN_MS }
}
