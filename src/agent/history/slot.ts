/** What was measured in one slot of time; rates are per second. Undefined = not measured. */
export interface Sample {
  cpuBusyPermille?: number | undefined
  memUsedBytes?: number | undefined
  diskUsedBytes?: number | undefined
  diskReadBps?: number | undefined
  diskWriteBps?: number | undefined
  netRxBps?: number | undefined
  netTxBps?: number | undefined
  clockOffsetUs?: number | undefined
}

export type Field = keyof Sample

/** In the order they are kept. */
const FIELDS = [
  ...(['cpuBusyPermille', 'memUsedBytes', 'diskUsedBytes', 'diskReadBps'] as const),
  ...(['diskWriteBps', 'netRxBps', 'netTxBps', 'clockOffsetUs'] as const),
] satisfies readonly Field[]
/** Averages over a step; all else is as last measured in it. */
const RATES: ReadonlySet<Field> = new Set<Field>([
  ...(['cpuBusyPermille', 'diskReadBps', 'diskWriteBps', 'netRxBps', 'netTxBps'] as const),
])

/** Words of 16 bits one slot takes. */
export const SLOT_WORDS = FIELDS.length

/** Exact up to 2,047, beyond that 11 significant bits: half a thousandth is lost at most. */
const MANTISSA_BITS = 10
const MANTISSA = 2 ** MANTISSA_BITS
const ABSENT = 0xffff
const SIGN = 0x8000
/** Largest exponent of a field with a sign, and of one without. */
const SIGNED_TOP = 30
const UNSIGNED_TOP = 62

/** Writes a sample into a slot. */
export function putSlot(words: Uint16Array, slot: number, sample: Sample): void {
  FIELDS.forEach((field, i) => {
    const value = sample[field]
    words[slot * SLOT_WORDS + i] = value === undefined ? ABSENT : wordOf(value, field === 'clockOffsetUs')
  })
}

/** Slots in which nothing was measured. */
export function clearSlots(words: Uint16Array, first: number, count: number): void {
  words.fill(ABSENT, first * SLOT_WORDS, (first + count) * SLOT_WORDS)
}

/** Undefined = nothing was measured in that slot. */
export function readSlot(words: Uint16Array, slot: number): Sample | undefined {
  const sample: Sample = {}
  let found = false
  FIELDS.forEach((field, i) => {
    const word = words[slot * SLOT_WORDS + i]!
    if (word === ABSENT) return
    sample[field] = numberOf(word, field === 'clockOffsetUs')
    found = true
  })
  return found ? sample : undefined
}

function wordOf(value: number, signed: boolean): number {
  if (!signed) return unsignedWord(Math.max(0, value), UNSIGNED_TOP)
  return (value < 0 ? SIGN : 0) | unsignedWord(Math.abs(value), SIGNED_TOP)
}

/** An exponent above ten bits of mantissa, whose leading one is not written. */
function unsignedWord(value: number, top: number): number {
  const whole = Math.round(value)
  if (whole < MANTISSA) return whole
  let exponent = Math.floor(Math.log2(whole)) - MANTISSA_BITS
  let mantissa = Math.round(whole / 2 ** exponent)
  if (mantissa === 2 * MANTISSA) {
    mantissa = MANTISSA
    exponent++
  }
  if (exponent + 1 > top) return (top << MANTISSA_BITS) | (MANTISSA - 1)
  return ((exponent + 1) << MANTISSA_BITS) | (mantissa - MANTISSA)
}

function numberOf(word: number, signed: boolean): number {
  const bits = signed ? word & ~SIGN : word
  const exponent = bits >> MANTISSA_BITS
  const mantissa = bits & (MANTISSA - 1)
  const value = exponent === 0 ? mantissa : (mantissa + MANTISSA) * 2 ** (exponent - 1)
  return signed && word & SIGN ? -value : value
}

/** One step made of several: rates are averaged, the rest is the last measured. Undefined = none of them has anything. */
export function merge(samples: readonly (Sample | undefined)[]): Sample | undefined {
  const merged: Sample = {}
  let found = false
  for (const field of FIELDS) {
    const values = samples.flatMap((sample) => sample?.[field] ?? [])
    if (values.length === 0) continue
    found = true
    merged[field] = RATES.has(field) ? values.reduce((sum, value) => sum + value, 0) / values.length : values.at(-1)
  }
  return found ? merged : undefined
}
