import type { Clock } from '../../ipc/base/clock.ts'

/** The kernel tells uptime in hundredths; less than this between two beats is no sleep. */
const WAKE_MS = 1_000
/** A beat so late means that this host, or the agent, stood still. */
const LATE_MS = 5_000
/** The wall clock was set, by whomever. */
const STEP_MS = 500

export type HostEvent = 'host_wake' | 'stall' | 'step'

/** Tells from three clocks what happened to this host between two beats. */
export class HostPulse {
  readonly #clock: Clock
  readonly #uptimeMs: () => number
  #last: { up: number | undefined; mono: number; wall: number }

  /** `uptimeMs` counts sleep, the monotonic clock does not; where it raises, no sleep is told. */
  constructor(clock: Clock, uptimeMs: () => number) {
    this.#clock = clock
    this.#uptimeMs = uptimeMs
    this.#last = this.#look()
  }

  /** Call about every `periodMs`; undefined = nothing happened. */
  beat(periodMs: number): HostEvent | undefined {
    const before = this.#last
    const now = this.#look()
    this.#last = now
    const mono = now.mono - before.mono
    const slept = now.up === undefined || before.up === undefined ? 0 : now.up - before.up - mono
    if (slept > WAKE_MS) return 'host_wake'
    if (mono > periodMs + LATE_MS) return 'stall'
    return Math.abs(now.wall - before.wall - mono) > STEP_MS ? 'step' : undefined
  }

  #look() {
    return { up: this.#up(), mono: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  /** A host out of file descriptors cannot read it, and the agent must outlive that. */
  #up(): number | undefined {
    try {
      return this.#uptimeMs()
    } catch {
      return undefined
    }
  }
}
