import { describe, expect, it } from 'vitest'
import {
  type ClockCause,
  type ClockSituation,
  NOBODY_ANSWERS,
  OFF_US,
  planClock,
  TRY_LIMIT,
} from '../../../../src/agent/clock/clock-plan.ts'
import { CLOCK_POLICIES } from '../../../../src/ipc/clock-policy.ts'

const CAUSES: ClockCause[] = ['start', 'resume', 'restore', 'stall', 'host_wake', 'offset', 'asked']
const behind = (s: number) => -s * 1_000_000
const at = (change: Partial<ClockSituation> = {}): ClockSituation => ({
  cause: 'resume',
  policy: 'auto',
  offsetUs: behind(70),
  uncertaintyUs: 2_000,
  host: 'synchronised',
  triedLately: 0,
  ...change,
})

describe("a guest's clock", () => {
  it.each([
    ['auto', { act: 'set_time', orElse: 'chrony_burst' }],
    ['host-only', { act: 'set_time', orElse: 'chrony_burst' }],
    ['network', { act: 'chrony_burst', orElse: 'none' }],
    ['windows-standalone', { act: 'set_time', orElse: 'none' }],
  ] as const)('under the policy %s that is 70 s behind after a resume has one authority', (policy, plan) => {
    for (const cause of CAUSES.filter((one) => one !== 'start')) expect(planClock(at({ policy, cause }))).toEqual(plan)
  })

  it.each(['none', 'windows-domain'] as const)(
    'under the policy %s is never touched, however far off it is',
    (policy) => {
      for (const cause of CAUSES)
        for (const offsetUs of [undefined, 0, behind(3600)]) {
          const plan = planClock(at({ policy, cause, offsetUs }))
          if (cause === 'offset' || cause === 'start') expect(plan).toBeUndefined()
          else expect(plan).toMatchObject({ act: 'none', result: cause === 'asked' ? 'failed' : 'done' })
        }
    },
  )

  it('of a guest in which nothing answers is not guessed at, and a person is told why it was not set', () => {
    for (const policy of CLOCK_POLICIES.filter((name) => name !== 'none' && name !== 'windows-domain'))
      expect(planClock(at({ policy, offsetUs: undefined }))).toEqual({
        act: 'none',
        result: 'failed',
        detail: NOBODY_ANSWERS,
      })
  })

  it.each(['resume', 'restore', 'stall', 'host_wake'] as const)('that is in step after a %s is left alone', (cause) => {
    expect(planClock(at({ cause, offsetUs: 99_000 }))).toMatchObject({ act: 'none', result: 'done' })
    expect(planClock(at({ cause, offsetUs: -99_000 }))).toMatchObject({ act: 'none', result: 'done' })
    expect(planClock(at({ cause, offsetUs: 140_000, uncertaintyUs: 50_000 }))).toMatchObject({ act: 'none' })
    expect(planClock(at({ cause, offsetUs: 140_000 }))).toMatchObject({ act: 'set_time' })
  })

  it('is set when a person asks, in step or not', () => {
    expect(planClock(at({ cause: 'asked', offsetUs: 0 }))).toMatchObject({ act: 'set_time' })
  })

  it('that begins a part of a second behind is set at the first look, unless it is kept by the network', () => {
    const begins = at({ cause: 'start', offsetUs: -407_000 })
    const set = { act: 'set_time', orElse: 'none' }
    for (const policy of ['auto', 'host-only', 'windows-standalone'] as const)
      expect(planClock({ ...begins, policy, host: 'not_synchronised' })).toEqual(set)
    expect(planClock({ ...begins, policy: 'network' })).toBeUndefined()
    expect(planClock({ ...begins, offsetUs: -101_000 })).toBeUndefined()
  })

  it('that is found off by less than a second is left to what slews it', () => {
    expect(planClock(at({ cause: 'offset', offsetUs: OFF_US - 1 }))).toBeUndefined()
    expect(planClock(at({ cause: 'offset', offsetUs: OFF_US + 1_000, uncertaintyUs: 5_000 }))).toBeUndefined()
    expect(planClock(at({ cause: 'offset', offsetUs: OFF_US + 5_000 }))).toMatchObject({ act: 'set_time' })
  })

  it('found off on a host that is not synchronised itself is left to the sources of the guest first', () => {
    const off = at({ cause: 'offset', host: 'not_synchronised' })
    expect(planClock(off)).toEqual({ act: 'chrony_burst', orElse: 'set_time' })
    expect(planClock({ ...off, host: '' })).toMatchObject({ act: 'set_time' })
    expect(planClock({ ...off, policy: 'host-only' })).toMatchObject({ act: 'set_time' })
    expect(planClock({ ...off, cause: 'resume' })).toMatchObject({ act: 'set_time' })
  })

  it('that goes off again and again has a second master, which is said and not fought', () => {
    const off = at({ cause: 'offset', triedLately: TRY_LIMIT })
    expect(planClock(off)).toMatchObject({ act: 'none', result: 'failed' })
    expect(planClock({ ...off, cause: 'resume' })).toMatchObject({ act: 'set_time' })
  })
})
