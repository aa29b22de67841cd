import { describe, expect, it } from 'vitest'
import { ConnectSlots } from '../../../../../src/main/control/hosts/connect-slots.ts'

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('hosts dialled at once', () => {
  it('are bounded; the others wait in order', async () => {
    const slots = new ConnectSlots(2)
    const signal = new AbortController().signal
    const ends = [1, 2, 3, 4].map(() => Promise.withResolvers<void>())
    const begun: number[] = []
    const all = Promise.allSettled(
      ends.map(({ promise }, i) =>
        slots.run(signal, () => {
          begun.push(i)
          return promise
        }),
      ),
    )
    await settled()
    expect(begun).toEqual([0, 1])
    ends[1]!.resolve()
    await settled()
    expect(begun).toEqual([0, 1, 2])
    ends[0]!.resolve()
    ends[2]!.reject(new Error('no answer'))
    await settled()
    expect(begun).toEqual([0, 1, 2, 3])
    ends[3]!.resolve()
    expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  })

  it('give a place up when they are called off while waiting', async () => {
    const slots = new ConnectSlots(1)
    const first = Promise.withResolvers<void>()
    const running = slots.run(new AbortController().signal, () => first.promise)
    const off = new AbortController()
    const waiting = slots.run(off.signal, async () => 'ran')
    off.abort(new Error('called off'))
    await expect(waiting).rejects.toThrow('called off')
    first.resolve()
    await running
    expect(await slots.run(new AbortController().signal, async () => 'ran')).toBe('ran')
  })
})
