import { describe, expect, it } from 'vitest'
import { counting, elapsedMs, standing } from '../../../../src/agent/reconcile/quarantine-clock.ts'

const at = (uptimeMs: number, bootId = 'a') => ({ bootId, uptimeMs })

describe('the quarantine clock', () => {
  it('counts uptime within one boot', () => {
    const q = counting(undefined, at(1_000))
    expect(elapsedMs(q, at(61_000))).toBe(60_000)
  })

  it('does not count while the host is down, and goes on after', () => {
    const q = counting(undefined, at(1_000))
    const folded = counting(q, at(601_000))
    expect(elapsedMs(folded, at(500, 'b'))).toBe(600_000)
    expect(elapsedMs(counting(folded, at(500, 'b')), at(1_500, 'b'))).toBe(601_000)
  })

  it('is written down every 5 minutes, not at every look', () => {
    const q = counting(undefined, at(0))
    expect(counting(q, at(299_999))).toBe(q)
    expect(counting(q, at(300_000))).toMatchObject({ elapsedMs: 300_000, sinceUptimeMs: 300_000, bootId: 'a' })
  })

  it('starts anew for another deletion, and goes on for one an older agent did not name', () => {
    const first = counting(undefined, at(0), '5')
    expect(elapsedMs(counting(first, at(9_000), '7'), at(9_000))).toBe(0)
    expect(elapsedMs(counting(first, at(9_000), '5'), at(9_000))).toBe(9_000)
    const unnamed = counting(undefined, at(0))
    expect(counting(unnamed, at(9_000), '5')).toMatchObject({ elapsedMs: 9_000, tombstone: '5' })
  })

  it('stands still and goes on from there', () => {
    const q = standing(counting(undefined, at(0)), at(7_000))
    expect(standing(q, at(9_000))).toBe(q)
    expect(elapsedMs(q, at(999_000))).toBe(7_000)
    expect(elapsedMs(counting(q, at(10_000)), at(11_000))).toBe(8_000)
  })
})
