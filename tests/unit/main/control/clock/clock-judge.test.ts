import { describe, expect, it } from 'vitest'
import { type ClockReading, judgeClocks } from '../../../../../src/main/control/clock/clock-judge.ts'

const H = 3_600_000
const host = (hostId: string, offsetMs: number, state = 'synchronised', uncertaintyMs = 10): ClockReading => ({
  ...{ hostId, state, offsetMs, uncertaintyMs },
})
const free = (hostId: string, offsetMs: number) => host(hostId, offsetMs, 'not_synchronised')
const mute = (hostId: string, offsetMs: number) => host(hostId, offsetMs, '')
const judged = (...readings: ClockReading[]) => Object.fromEntries(judgeClocks(readings))

describe('whose clock is wrong', () => {
  it('is nobody where they agree, whoever keeps them', () =>
    expect(judged(host('a', 5), free('b', -900), mute('c', 999))).toEqual({ a: '', b: '', c: '' }))

  it('is nobody where the way to the host is too long to tell', () =>
    expect(judged(host('a', 2_500, 'synchronised', 1_600))).toEqual({ a: '' }))

  it('is this computer where the one synchronised host is far off', () =>
    expect(judged(host('a', H))).toEqual({ a: 'app' }))

  it('is this computer where synchronised hosts agree against it', () =>
    expect(judged(host('a', H), host('b', H + 400), free('c', H - 300))).toEqual({ a: 'app', b: 'app', c: 'app' }))

  it('is the host that is not synchronised, where others agree with this computer', () => {
    expect(judged(host('a', 3), free('b', H))).toEqual({ a: '', b: 'host' })
    expect(judged(mute('a', 3), mute('b', H))).toEqual({ a: '', b: 'host' })
    expect(judged(free('b', H))).toEqual({ b: 'host' })
  })

  it('is a host that synchronised ones contradict, even where this computer is wrong too', () =>
    expect(judged(host('a', H), host('b', H), free('c', 2 * H), host('d', -H))).toEqual({
      ...{ a: 'app', b: 'app', c: 'host', d: 'host' },
    }))

  it('is the one synchronised host that another and this computer contradict', () =>
    expect(judged(host('a', 3), host('b', -H))).toEqual({ a: '', b: 'host' }))

  it('is unknown where the witnesses are of two minds', () => {
    expect(judged(host('a', H), host('b', -H))).toEqual({ a: 'unknown', b: 'unknown' })
    expect(judged(host('a', H), host('b', H), host('c', 0))).toEqual({ a: 'unknown', b: 'unknown', c: '' })
  })

  it('is unknown where nothing on the only host tells', () => expect(judged(mute('a', H))).toEqual({ a: 'unknown' }))

  it('is this computer where hosts that nothing keeps agree against it, and none with it', () =>
    expect(judged(free('a', H), mute('b', H + 10))).toEqual({ a: 'app', b: 'app' }))

  it('gives the same verdicts whatever the order', () => {
    const readings = [host('a', H), host('b', H + 900), host('c', H + 1_800), free('d', 3), mute('e', -H)]
    expect(judged(...readings.toReversed())).toEqual(judged(...readings))
  })
})
