/** Of one port and of all, and how long what nobody uses is kept. */
export interface PortLimits {
  /** Connections, or UDP clients, of one port at once. */
  perPort: number
  /** The same of all ports together: two file descriptors each. */
  inAll: number
  /** A guest takes a connection within this, ms. */
  connectMs: number
  /** A TCP connection without a byte either way for this long is ended, ms. */
  tcpIdleMs: number
  /** The same once one side has ended, ms. */
  halfClosedIdleMs: number
  /** A UDP client without a datagram either way for this long is forgotten, ms. */
  udpIdleMs: number
  /** The same while the guest has answered nothing. */
  udpUnansweredMs: number
}

export const PORT_LIMITS: PortLimits = {
  perPort: 1_024,
  inAll: 2_048,
  connectMs: 10_000,
  tcpIdleMs: 124 * 60_000,
  halfClosedIdleMs: 15 * 60_000,
  udpIdleMs: 5 * 60_000,
  udpUnansweredMs: 30_000,
}

/** Places that are taken one by one and given back. */
export class Places {
  readonly #limit: number
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** False when all are taken. */
  take(): boolean {
    if (this.#taken >= this.#limit) return false
    this.#taken++
    return true
  }

  giveBack(): void {
    this.#taken--
  }
}

/** Of one published port, since it was opened; `active` is now. */
export interface Counters {
  active: number
  refused: number
  dropped: number
}
