import { expect, it } from 'vitest'
import { watchWake } from '../../../../src/main/serving/wake-watch.ts'

it('a computer that slept between two ticks has woken, one that ticks late by a little has not', async () => {
  const abort = new AbortController()
  const ticks = [2_000, 2_900, 9_000, 3_600_000, 2_000]
  let now = 0
  const clock = {
    now: () => now,
    monotonic: () => 0,
    sleep: async () => {
      now += ticks.shift() ?? 0
      if (ticks.length === 0) abort.abort()
    },
  }
  const slept: number[] = []
  await watchWake(clock, (ms) => slept.push(ms), abort.signal)
  expect(slept).toEqual([3_598_000])
})
