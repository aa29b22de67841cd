import { describe, expect, it } from 'vitest'
import { CreateSlots } from '../../../../src/agent/reconcile/create-slots.ts'

const never = new AbortController().signal

describe('create slots', () => {
  it('0 means no throttle', async () => {
    const slots = new CreateSlots(0)
    await Promise.all([slots.take(never), slots.take(never), slots.take(never)])
  })

  it('are given in the order they were asked for', async () => {
    const slots = new CreateSlots(1)
    const order: string[] = []
    const first = await slots.take(never)
    const second = slots.take(never).then((release) => {
      order.push('second')
      release()
    })
    const third = slots.take(never).then((release) => {
      order.push('third')
      release()
    })
    order.push('first')
    first()
    await Promise.all([second, third])
    expect(order).toEqual(['first', 'second', 'third'])
  })

  it('releasing twice frees one slot', async () => {
    const slots = new CreateSlots(1)
    const release = await slots.take(never)
    release()
    release()
    await slots.take(never)
    const waiting = new AbortController()
    const blocked = slots.take(waiting.signal)
    waiting.abort(new Error('enough'))
    await expect(blocked).rejects.toThrow('enough')
  })

  it('a waiter that gives up does not swallow the slot', async () => {
    const slots = new CreateSlots(1)
    const release = await slots.take(never)
    const waiting = new AbortController()
    const gaveUp = slots.take(waiting.signal)
    const next = slots.take(never)
    waiting.abort(new Error('enough'))
    await expect(gaveUp).rejects.toThrow('enough')
    release()
    await next
  })
})
