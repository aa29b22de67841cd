/** Apart by less, ms, is not worth a word: the way to a host is no better known, and nothing here is judged finer. */
export const APART_MS = 1_000

/** A host that answers, as the judge sees it. */
export interface ClockReading {
  hostId: string
  /** "synchronised", "not_synchronised" or '' = nothing on it tells. */
  state: string
  /** Host minus this computer, ms, known to within `uncertaintyMs`. */
  offsetMs: number
  uncertaintyMs: number
}

export type Wrong = '' | 'host' | 'app' | 'unknown'

/**
 * Whose clock is wrong where a host and this computer differ. Synchronised hosts are the witnesses; the largest group of
 * them that agrees is right, with this computer's own clock as one voice for the group it is in.
 */
export function judgeClocks(readings: readonly ClockReading[]): Map<string, Wrong> {
  const truth = consensus(readings)
  return new Map(readings.map((reading) => [reading.hostId, verdict(reading, truth, readings)]))
}

/** What the witnesses agree the offset of a right host is; undefined = they are of two minds, or there are none. */
function consensus(readings: readonly ClockReading[]): ClockReading | undefined {
  const witnesses = readings.filter(({ state }) => state === 'synchronised')
  const groups = witnesses.map((one) => ({
    one,
    size: witnesses.filter((other) => agree(one, other)).length + (isApart(one) ? 0 : 1),
  }))
  const most = Math.max(0, ...groups.map(({ size }) => size))
  const best = groups.filter(({ size }) => size === most).map(({ one }) => one)
  const [first] = best
  return first && best.every((one) => agree(one, first)) ? first : undefined
}

function verdict(reading: ClockReading, truth: ClockReading | undefined, all: readonly ClockReading[]): Wrong {
  if (!isApart(reading)) return ''
  if (truth) return isApart(truth) && agree(reading, truth) ? 'app' : 'host'
  if (reading.state === 'synchronised') return 'unknown'
  const others = all.filter(({ hostId }) => hostId !== reading.hostId)
  if (others.some((other) => !isApart(other))) return 'host'
  if (others.some((other) => agree(other, reading))) return 'app'
  return reading.state === 'not_synchronised' ? 'host' : 'unknown'
}

const isApart = ({ offsetMs, uncertaintyMs }: ClockReading): boolean => Math.abs(offsetMs) - uncertaintyMs >= APART_MS

const agree = (a: ClockReading, b: ClockReading): boolean =>
  Math.abs(a.offsetMs - b.offsetMs) - a.uncertaintyMs - b.uncertaintyMs < APART_MS
