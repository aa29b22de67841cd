import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fullJitterMs } from '../../../../src/ipc/base/backoff.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { lineLog } from '../../../../src/ipc/base/log.ts'

describe('back-off', () => {
  it('stays between the floor and the cap for any attempt', () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, r) => {
        const ms = fullJitterMs(attempt, { random: () => r })
        expect(ms).toBeGreaterThanOrEqual(500)
        expect(ms).toBeLessThanOrEqual(30_000)
      }),
    )
  })

  it('raises its ceiling with every attempt until the cap', () => {
    const ceiling = (attempt: number) => fullJitterMs(attempt, { random: () => 1 })
    expect([0, 1, 2, 9].map(ceiling)).toEqual([1000, 2000, 4000, 30_000])
  })
})

describe('clock', () => {
  it('ends a sleep at once when its signal aborts, with the reason given', async () => {
    const stop = new AbortController()
    const sleeping = systemClock.sleep(60_000, stop.signal)
    stop.abort(new Error('shutdown'))
    await expect(sleeping).rejects.toThrow('shutdown')
    await expect(systemClock.sleep(60_000, stop.signal)).rejects.toThrow('shutdown')
  })
})

describe('log', () => {
  it('writes one JSON object a line, 64-bit numbers as text, at most 4 KiB', () => {
    const lines: string[] = []
    const log = lineLog(
      (line) => lines.push(line),
      () => 0,
    )
    log.warn('host.lost', { host: 'a\nb', epoch: 2n ** 60n })
    log.info('big', { text: 'x'.repeat(10_000) })
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      level: 'warn',
      event: 'host.lost',
      host: 'a\nb',
      epoch: `${2n ** 60n}`,
    })
    expect(lines[1]?.length).toBeLessThanOrEqual(4097)
    expect(lines.every((l) => l.indexOf('\n') === l.length - 1)).toBe(true)
  })
})
