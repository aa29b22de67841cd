import type { Clock } from '../../ipc/base/clock.ts'

const TICK_MS = 2_000
/** A tick that comes this much too late was slept through, ms. */
const SLEPT_MS = 8_000

/** Calls back soon after the computer woke from sleep, until the signal aborts. A process starved for long looks the same, and that is harmless. */
export async function watchWake(clock: Clock, woke: (sleptMs: number) => void, signal: AbortSignal): Promise<void> {
  for (let before = clock.now(); !signal.aborted; before = clock.now()) {
    await clock.sleep(TICK_MS, signal).catch(() => {})
    const late = clock.now() - before - TICK_MS
    if (late > SLEPT_MS && !signal.aborted) woke(late)
  }
}
