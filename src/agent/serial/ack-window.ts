import { LIMITS } from '../../ipc/units.ts'

/** How far a sender may run ahead of its viewer: stops at the high mark, goes on below the low one. Offsets in bytes. */
export class AckWindow {
  readonly #high: number
  readonly #low: number
  #acked: number
  #stopped: boolean = false

  constructor(start: number, high: number = LIMITS.consoleWindowBytes, low: number = LIMITS.consoleWindowLowBytes) {
    this.#acked = start
    this.#high = high
    this.#low = low
  }

  /** Bytes that may be sent now, given that everything below `sent` is out. */
  room(sent: number): number {
    const ahead = sent - this.#acked
    this.#stopped = ahead >= this.#high || (this.#stopped && ahead > this.#low)
    return this.#stopped ? 0 : this.#high - ahead
  }

  /** Acks never go back, and never count bytes that were not sent. */
  ack(offset: number, sent: number): void {
    this.#acked = Math.max(this.#acked, Math.min(offset, sent))
  }

  /** Bytes below `offset` will never be sent, so no ack of them is waited for. */
  skipTo(offset: number): void {
    this.#acked = Math.max(this.#acked, offset)
    this.#stopped = false
  }
}
