import { agesOf, type Batch, type Moment } from './batches.ts'
import { RAW_MS, type RawRing } from './raw-ring.ts'
import { merge, readSlot, type Sample, SLOT_WORDS } from './slot.ts'

export const MINUTE_MS = 60_000
export const SLOTS_A_MINUTE = MINUTE_MS / RAW_MS

/** A sample and where it begins by the time since this boot, ms: below zero for what an earlier boot measured. */
export interface Placed {
  atMs: number
  sample: Sample
}

/** What was written, on the time of this boot. */
export function placedMinutes(batches: readonly Batch[], now: Moment): Placed[] {
  const ages = agesOf(batches, now)
  return batches.flatMap(({ words }, b) => {
    const minutes = words.length / SLOT_WORDS
    const endMs = now.uptimeMs - ages[b]!
    return Array.from({ length: minutes }, (_, i) => ({
      atMs: endMs - (minutes - i) * MINUTE_MS,
      sample: readSlot(words, i),
    })).filter((placed): placed is Placed => placed.sample !== undefined)
  })
}

/** What the ring holds from one of its slots on. */
export function placedRaw(ring: RawRing, from: number): Placed[] {
  const placed: Placed[] = []
  for (let slot = Math.max(from, ring.oldest); slot <= (ring.newest ?? -1); slot++) {
    const sample = ring.at(slot)
    if (sample) placed.push({ atMs: slot * RAW_MS, sample })
  }
  return placed
}

export interface Asked {
  spanMs: number
  /** Steps at most. */
  samples: number
  /** What one placed sample stands for, ms. */
  baseMs: number
}

export interface Steps {
  stepMs: number
  /** Oldest first; a step without one is a gap. */
  steps: { atMs: number; sample: Sample }[]
}

/** At most so many steps over the span that ends now, each made of what begins in it. */
export function inSteps(placed: readonly Placed[], nowMs: number, { spanMs, samples, baseMs }: Asked): Steps {
  const stepMs = baseMs * Math.max(1, Math.ceil(spanMs / baseMs / samples))
  const last = Math.floor(nowMs / stepMs)
  const first = Math.max(last - samples, Math.floor((nowMs - spanMs) / stepMs)) + 1
  // Steps of another boot begin elsewhere in a minute: its middle says to which step most of it belongs.
  const stepOf = ({ atMs }: Placed) => Math.floor((atMs + baseMs / 2) / stepMs)
  const inOrder = placed.toSorted((a, b) => a.atMs - b.atMs)
  const steps = [...Map.groupBy(inOrder, stepOf)]
    .filter(([step]) => step >= first && step <= last)
    .map(([step, members]) => ({ atMs: step * stepMs, sample: merge(members.map(({ sample }) => sample)) }))
  return { stepMs, steps: steps.filter((step): step is Steps['steps'][number] => step.sample !== undefined) }
}
