import { describe, expect, it } from 'vitest'
import { watchSleep } from '../../../../src/main/control/sleep-watch.ts'
import { ManualClock } from './a-clock.ts'

/** The wall clock goes on while the computer sleeps; the monotonic one may stand still. */
class SleepyClock extends ManualClock {
  sleptMs = 0
  override now(): number {
    return super.now() + this.sleptMs
  }
}

describe('watching for sleep', () => {
  it.each([
    ['nothing happens', (_: SleepyClock) => {}, 5_000, 0],
    [
      'the monotonic clock stood still while the wall clock went on',
      (c: SleepyClock) => (c.sleptMs += 60_000),
      5_000,
      1,
    ],
    ['both clocks went on', (_: SleepyClock) => {}, 60_000, 1],
    ['the process was slow for a moment', (_: SleepyClock) => {}, 9_000, 0],
    ['the wall clock was set back', (c: SleepyClock) => (c.sleptMs -= 3_600_000), 5_000, 0],
  ])('when %s', async (_, change, advanceMs, wakes) => {
    const clock = new SleepyClock()
    let woke = 0
    const own = new AbortController()
    const watching = watchSleep(clock, () => woke++, own.signal)
    change(clock)
    await clock.advance(advanceMs)
    own.abort()
    await watching
    expect(woke).toBe(wakes)
  })
})
