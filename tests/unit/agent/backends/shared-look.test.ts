import { describe, expect, it } from 'vitest'
import { SharedLook } from '../../../../src/agent/backends/shared-look.ts'

const { signal } = new AbortController()

describe('a look at the host', () => {
  it('that failed fails all who waited, and is taken again for the next', async () => {
    let looks = 0
    const look = new SharedLook(async () => {
      if (++looks === 1) throw new Error('busy')
      return looks
    })
    const first = await Promise.allSettled([look.get(signal), look.get(signal)])
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await Promise.all([look.get(signal), look.get(signal)])).toEqual([2, 2])
  })

  it('goes on for the others when one who asked gives up', async () => {
    const found = Promise.withResolvers<string>()
    const look = new SharedLook(() => found.promise)
    const stop = new AbortController()
    const impatient = look.get(stop.signal)
    const patient = look.get(signal)
    stop.abort(new Error('not wanted'))
    await expect(impatient).rejects.toThrow('not wanted')
    found.resolve('found')
    expect(await patient).toBe('found')
  })

  it('is renewed once for all who find it old at the same time', async () => {
    let looks = 0
    const look = new SharedLook(async () => ++looks)
    await look.get(signal)
    expect(await Promise.all([look.renew(signal), look.renew(signal)])).toEqual([2, 2])
  })
})
