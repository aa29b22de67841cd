import { describe, expect, it } from 'vitest'
import { CLOCK_POLICIES } from '../../../src/ipc/clock-policy.ts'
import {
  actWords,
  breaksAt,
  CLOCK_LIMITS,
  clockText,
  guestClockState,
  hostClockState,
  offsetWords,
  policyWords,
} from '../../../src/ipc/clock-words.ts'

const ms = (n: number) => BigInt(Math.round(n * 1000))
const guest = (offsetMs: number, uncertaintyMs = 0) =>
  guestClockState({ source: 'guest_agent', offsetUs: ms(offsetMs), uncertaintyUs: ms(uncertaintyMs) })
const act = { cause: 'resume', means: 'set_time', result: 'done', detail: '' }

describe('the state word of a guest', () => {
  it.each([
    [0, 'In step (±1 ms)'],
    [2, 'In step (±2 ms)'],
    [-99, 'In step (±99 ms)'],
    [100, 'Drifting (100 ms ahead)'],
    [-999, 'Drifting (999 ms behind)'],
    [1000, 'Jumped (1.0 s ahead)'],
    [-41_200, 'Jumped (41.2 s behind)'],
    [-3_600_000, 'Jumped (1 h behind)'],
    [86_400_000 * 366, 'Jumped (366 d ahead)'],
  ])('%i ms off is "%s"', (offset, text) => expect(clockText(guest(offset))).toBe(text))

  it('is not reported where nothing was measured, which is not zero', () => {
    for (const clock of [undefined, { source: '' }, { source: '', offsetUs: 0n }, { source: 'guest_agent' }])
      expect(guestClockState(clock)).toEqual({ word: 'Not reported', off: '', offMs: 0 })
  })

  it('accuses no guest of what may be the error of the measurement', () => {
    expect(clockText(guest(150, 80))).toBe('In step (±150 ms)')
    expect(clockText(guest(5, 80))).toBe('In step (±80 ms)')
    expect(guest(1_060, 80).word).toBe('Drifting')
    expect(guest(1_200, 80)).toMatchObject({ word: 'Jumped', offMs: 1_120 })
  })

  it('is a jump after a standstill until it was measured again', () => {
    const measured = { source: 'guest_agent', offsetUs: 0n, uncertaintyUs: 0n }
    for (const result of ['', 'failed'])
      expect(guestClockState({ ...measured, lastAct: { ...act, result } })).toMatchObject({ word: 'Jumped', off: '' })
    const mute = { source: '', lastAct: { ...act, result: 'failed', means: 'none' } }
    expect(guestClockState(mute).word).toBe('Not reported')
    const seenSince = { ...act, result: 'failed', offsetAfterUs: ms(3) }
    expect(guestClockState({ ...measured, lastAct: seenSince }).word).toBe('In step')
    expect(guestClockState({ ...measured, lastAct: act }).word).toBe('In step')
    expect(guestClockState({ ...measured, lastAct: { ...act, cause: 'asked', result: 'failed' } }).word).toBe('In step')
  })
})

describe('the state word of a host', () => {
  const host = { state: 'synchronised', offsetUs: ms(3), wrong: '' }
  it.each([
    [host, 'In step (±3 ms)'],
    [{ ...host, offsetUs: undefined }, 'In step'],
    [{ ...host, offsetUs: ms(-400) }, 'Drifting (400 ms behind)'],
    [{ ...host, state: 'not_synchronised' }, 'Not synchronised (±3 ms)'],
    [{ state: 'not_synchronised', wrong: '' }, 'Not synchronised'],
    [{ state: '', wrong: '' }, 'Not reported'],
    [{ state: '', wrong: 'app', appOffsetUs: ms(90_000) }, 'Not reported'],
    [{ state: '', wrong: 'host', appOffsetUs: ms(90_000) }, 'Jumped (1 min 30 s ahead)'],
    [{ ...host, wrong: 'host', appOffsetUs: ms(-90_000), appUncertaintyUs: ms(20) }, 'Jumped (1 min 30 s behind)'],
    [{ ...host, wrong: 'app', appOffsetUs: ms(-90_000) }, 'In step (±3 ms)'],
  ])('%o', (clock, text) => expect(clockText(hostClockState(clock))).toBe(text))

  it('is not reported where the host said nothing', () => expect(hostClockState(undefined).word).toBe('Not reported'))
})

describe('what breaks', () => {
  it('is nothing in step, and everything past half an hour', () => {
    expect(breaksAt(99)).toEqual([])
    expect(breaksAt(1_800_000)).toHaveLength(CLOCK_LIMITS.length)
  })

  it.each([
    [100, 'order'],
    [1_000, 'leases'],
    [30_000, 'TOTP'],
    [300_000, 'Kerberos'],
    [1_800_000, 'certificates'],
  ])('from %i ms on it is %s too', (offMs, what) => {
    expect(breaksAt(offMs).at(-1)).toContain(what)
    expect(breaksAt(offMs - 1).join()).not.toContain(what)
  })
})

describe('offsets and acts in words', () => {
  it.each([
    [1n, '<1 ms ahead'],
    [-999_499n, '999 ms behind'],
    [59_999_000n, '59.9 s ahead'],
    [-60_000_000n, '1 min behind'],
    [-(2n ** 53n), '104249 d 23 h behind'],
  ])('%i µs is "%s"', (us, words) => expect(offsetWords(us)).toBe(words))

  it('say the cause, what was done and what came of it', () => {
    expect(actWords(undefined)).toBe('')
    expect(actWords({ ...act, offsetBeforeUs: ms(-41_200), offsetAfterUs: ms(2) })).toBe(
      'set (after it was resumed, was 41.2 s behind, then 2 ms ahead)',
    )
    expect(actWords({ ...act, cause: 'stall', means: 'chrony_burst' })).toBe(
      'stepped by chrony (after it stood still for long)',
    )
    expect(actWords({ ...act, result: '' })).toBe('being set (after it was resumed)')
    expect(actWords({ ...act, result: 'failed', detail: 'the guest agent is silent' })).toBe(
      'could not be set (after it was resumed): the guest agent is silent',
    )
    expect(actWords({ ...act, means: 'none', result: 'failed', detail: 'its domain keeps it' })).toBe(
      'left alone (after it was resumed): its domain keeps it',
    )
  })

  it('explain every policy in one sentence', () => {
    const sentences = CLOCK_POLICIES.map(policyWords)
    expect(new Set(sentences).size).toBe(CLOCK_POLICIES.length)
    for (const sentence of sentences) expect(sentence).toMatch(/[.]$/)
  })
})
