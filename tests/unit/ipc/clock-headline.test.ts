import { describe, expect, it } from 'vitest'
import { clockHeadline } from '../../../src/ipc/clock-headline.ts'

const us = (s: number) => BigInt(Math.round(s * 1e6))
const host = (name: string, change: { state?: string; wrong?: string; apart?: number } = {}) => ({
  name,
  clock: {
    state: change.state ?? 'synchronised',
    offsetUs: 2000n,
    wrong: change.wrong ?? '',
    ...(change.apart === undefined ? {} : { appOffsetUs: us(change.apart), appUncertaintyUs: 1000n }),
  },
})
const guest = (name: string, offsetS?: number) => ({
  id: `id-${name}`,
  name,
  ...(offsetS === undefined ? {} : { clock: { source: 'guest_agent', offsetUs: us(offsetS), uncertaintyUs: 0n } }),
})

describe('the sentence above all clocks', () => {
  it('names this computer where hosts agree against it, whatever else is wrong', () => {
    const hosts = [host('a', { wrong: 'app', apart: -41.2 }), host('b', { wrong: 'app', apart: -41 }), host('c')]
    expect(clockHeadline(hosts, [guest('db', -41)])).toMatchObject({
      tone: 'bad',
      text: "This computer's clock is the wrong one, 41.2 s ahead: a and b agree against it.",
    })
    expect(clockHeadline([host('a', { wrong: 'app', apart: 3600 })], []).text).toBe(
      "This computer's clock is the wrong one, 1 h behind: a, which is synchronised, says so.",
    )
  })

  it('names the host that is wrong, and says why it can be', () => {
    const loose = host('rack', { wrong: 'host', apart: 300, state: 'not_synchronised' })
    expect(clockHeadline([loose, host('b')], [guest('db', -41)]).text).toBe(
      'The clock of rack is the wrong one, 5 min ahead, and nothing keeps it.',
    )
    const lying = host('rack', { wrong: 'host', apart: -300 })
    expect(clockHeadline([lying, loose], []).text).toBe(
      'The clock of rack is the wrong one, 5 min behind, although it says it is synchronised. So is that of rack.',
    )
  })

  it('decides nothing where nothing tells', () => {
    const mute = (apart: number) => [host('a', { state: '', wrong: 'unknown', apart })]
    expect(clockHeadline(mute(5), []).text).toContain('a is 5.0 s ahead of this computer, and nothing tells')
    expect(clockHeadline(mute(-5), []).text).toContain('a is 5.0 s behind this computer, and nothing tells')
  })

  it('names the guest that is off most, what breaks, and which to set', () => {
    const headline = clockHeadline([host('a')], [guest('web', 0.2), guest('db', -41.2), guest('ok', 0)])
    expect(headline).toMatchObject({ tone: 'bad', guestId: 'id-db' })
    expect(headline.text).toBe(
      'db is 41.2 s behind its host, and 1 more guest is off. This breaks one-time sign-in codes (TOTP).',
    )
    expect(clockHeadline([host('a')], [guest('web', 0.2)])).toMatchObject({ tone: 'warn', guestId: 'id-web' })
    const lastAct = { cause: 'resume', means: 'none', result: 'failed', detail: '' }
    expect(
      clockHeadline([host('a')], [{ id: 'x', name: 'db', clock: { source: 'guest_agent', offsetUs: 0n, lastAct } }])
        .text,
    ).toBe('db stood still, and its clock was not seen right since.')
  })

  it('names the hosts that nothing keeps', () => {
    const hosts = ['a', 'b', 'c', 'd', 'e'].map((name) => host(name, { state: 'not_synchronised' }))
    expect(clockHeadline(hosts, [guest('ok', 0)]).text).toBe('Nothing keeps the clock of a, b, c and 2 more.')
  })

  it('is calm about what is in step, and never calls silence that', () => {
    expect(clockHeadline([host('a')], [guest('ok', 0), guest('mute')])).toMatchObject({
      tone: 'good',
      next: '1 guest does not report: that needs the guest agent in it.',
    })
    for (const hosts of [[], [{ name: 'a' }], [host('a', { state: '' })]])
      expect(clockHeadline(hosts, [guest('mute')])).toMatchObject({
        tone: 'unknown',
        text: 'No clock is reported.',
        next: 'A host needs a time service such as chrony to report its clock, a running guest needs the guest agent.',
      })
    expect(clockHeadline([], []).tone).toBe('unknown')
  })
})
