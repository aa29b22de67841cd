import type { Clock } from '../../../ipc/base/clock.ts'

export interface LivenessOptions {
  /** Bytes received so far on the socket underneath; any change is a sign of life. */
  rxBytes(): number
  /** Makes a living peer send something. Called once per silence. */
  probe(): void
  onDead(): void
  clock: Pick<Clock, 'monotonic'>
  /** Runs `fn` every `ms` until the returned stop is called. */
  every?: (ms: number, fn: () => void) => () => void
  idleMs?: number
  deadMs?: number
  tickMs?: number
}

export interface Liveness {
  stop(): void
  /** Probes now; a link that stays silent is dead after the usual time. */
  check(): void
}

/** Silent this long: probe. */
export const LINK_IDLE_MS = 5_000
/** Nothing at all for this long although a probe is out: dead. */
export const LINK_DEAD_MS = 12_000
const TICK_MS = 1_000
/** A tick this late means the computer slept: probe before judging. */
const SLEPT_TICKS = 4

/** Dead only when nothing at all arrives while a probe is out, so a slow link that is busy is never killed. */
export function watchLiveness(options: LivenessOptions): Liveness {
  const { rxBytes, probe, onDead, clock, every = interval } = options
  const { idleMs = LINK_IDLE_MS, deadMs = LINK_DEAD_MS, tickMs = TICK_MS } = options
  let seen = rxBytes()
  let seenAt = clock.monotonic()
  let previous = seenAt
  let probed = false

  const sendProbe = () => {
    probed = true
    probe()
  }
  const stop = every(tickMs, () => {
    const now = clock.monotonic()
    const rx = rxBytes()
    if (now - previous > tickMs * SLEPT_TICKS) {
      seenAt = now - idleMs
      probed = false
    }
    previous = now
    if (rx !== seen) {
      seen = rx
      seenAt = now
      probed = false
      return
    }
    if (now - seenAt >= idleMs && !probed) sendProbe()
    if (now - seenAt >= deadMs && probed) {
      stop()
      onDead()
    }
  })
  return {
    stop,
    check() {
      seenAt = Math.min(seenAt, clock.monotonic() - idleMs)
      sendProbe()
    },
  }
}

function interval(ms: number, fn: () => void): () => void {
  const timer = setInterval(fn, ms)
  return () => clearInterval(timer)
}
