import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AckWindow } from '../../../../src/agent/serial/ack-window.ts'

describe('the ack window of a console', () => {
  it('stops at the high mark and goes on only at the low one', () => {
    const window = new AckWindow(0, 100, 20)
    expect(window.room(0)).toBe(100)
    expect(window.room(60)).toBe(40)
    expect(window.room(100)).toBe(0)
    window.ack(79, 100)
    expect(window.room(100)).toBe(0)
    window.ack(80, 100)
    expect(window.room(100)).toBe(80)
  })

  it('believes no ack of bytes that were not sent, and none that goes back', () => {
    const window = new AckWindow(0, 100, 20)
    window.ack(1_000_000, 50)
    expect(window.room(50)).toBe(100)
    window.ack(10, 50)
    expect(window.room(50)).toBe(100)
  })

  it('waits for no ack of bytes that were skipped', () => {
    const window = new AckWindow(0, 100, 20)
    expect(window.room(100)).toBe(0)
    window.skipTo(5_000)
    expect(window.room(5_000)).toBe(100)
  })

  it('never lets more than one window be unacked, whatever is acked and when', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300)), (acks) => {
        const window = new AckWindow(0, 100, 20)
        let sent = 0
        let acked = 0
        for (const ack of acks) {
          sent += window.room(sent)
          acked = Math.max(acked, Math.min(ack, sent))
          window.ack(ack, sent)
          expect(sent - acked).toBeLessThanOrEqual(100)
        }
      }),
    )
  })
})
