import { describe, expect, it } from 'vitest'
import { type ClockSample, comparisonOf, withSample } from '../../../../../src/main/control/clock/app-offset.ts'

const sample = (rawMs: number, roundTripMs = 40, baseMs = 0): ClockSample => ({ rawMs, roundTripMs, baseMs })
const compared = (...samples: ClockSample[]) =>
  comparisonOf(samples.reduce<ClockSample[]>((kept, one) => withSample(kept, one), []))

describe('a host against this computer', () => {
  it('is not known before a report came', () => expect(compared()).toBeUndefined())

  it('is the middle of what the way can have taken', () =>
    expect(compared(sample(-20))).toEqual({ offsetMs: 0, uncertaintyMs: 21 }))

  it('believes the report that was delayed least', () =>
    expect(compared(sample(-700), sample(-22), sample(-400))?.offsetMs).toBe(-2))

  it('follows a host whose clock was put back within three reports', () =>
    expect(compared(...[-20, -20, -20, -60_020, -60_020, -60_020].map((raw) => sample(raw)))?.offsetMs).toBe(-60_000))

  it('forgets what it heard before the clock of this computer was set', () =>
    expect(compared(sample(60_000), sample(-20, 40, 60_020))?.offsetMs).toBe(0))
})
