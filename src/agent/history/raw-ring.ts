import { WIDEST_MS } from './rates.ts'
import { clearSlots, putSlot, readSlot, type Sample, SLOT_WORDS } from './slot.ts'

/** One slot of the ring, ms: how often everything is measured. */
export const RAW_MS = 10_000
/** An hour of them. */
export const RAW_SLOTS = 360

/** The last hour of one subject, by the time since boot, so that no wall clock can move it. */
export class RawRing {
  readonly #words = new Uint16Array(RAW_SLOTS * SLOT_WORDS)
  #newest: number | undefined
  #oldest = 0
  #lastMs = 0

  constructor() {
    clearSlots(this.#words, 0, RAW_SLOTS)
  }

  /** Slot of the last sample; undefined = there is none. */
  get newest(): number | undefined {
    return this.#newest
  }

  /** First slot that can have anything. */
  get oldest(): number {
    return this.#oldest
  }

  /** A sample stands for the time since the one before, so a look that came late leaves no hole behind it. */
  put(uptimeMs: number, sample: Sample): void {
    const slot = Math.floor(uptimeMs / RAW_MS)
    const newest = this.#newest
    if (newest === undefined) this.#oldest = slot
    else if (slot < newest) return
    const from = newest === undefined || slot <= newest ? slot : newest + 1
    const isLate = newest !== undefined && slot > newest && uptimeMs - this.#lastMs <= WIDEST_MS
    for (let at = Math.max(from, slot - RAW_SLOTS + 1); at < slot; at++)
      if (isLate) putSlot(this.#words, at % RAW_SLOTS, sample)
      else clearSlots(this.#words, at % RAW_SLOTS, 1)
    putSlot(this.#words, slot % RAW_SLOTS, sample)
    this.#newest = slot
    this.#oldest = Math.max(this.#oldest, slot - RAW_SLOTS + 1)
    this.#lastMs = uptimeMs
  }

  /** Undefined = nothing was measured then, or it is too long ago. */
  at(slot: number): Sample | undefined {
    return this.#newest === undefined || slot < this.#oldest || slot > this.#newest
      ? undefined
      : readSlot(this.#words, slot % RAW_SLOTS)
  }
}
