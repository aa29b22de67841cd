import type { Clock } from '../../ipc/base/clock.ts'

const TICK_MS = 5_000
/** A tick that took this much longer by either clock means the computer slept or the process was stopped. */
const SLEPT_MS = 10_000

/** Calls back when the computer woke; ends with the signal. A wall clock that is set back says nothing. */
export async function watchSleep(clock: Clock, woke: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const before = { wall: clock.now(), monotonic: clock.monotonic() }
    await clock.sleep(TICK_MS, signal).catch(() => {})
    const tookMs = Math.max(clock.now() - before.wall, clock.monotonic() - before.monotonic)
    if (tookMs > TICK_MS + SLEPT_MS && !signal.aborted) woke()
  }
}
