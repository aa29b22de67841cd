import { describe, expect, it } from 'vitest'
import { outcomeWords, planUpgrade } from '../../../../../src/renderer/features/hosts/upgrade-plan.ts'
import { aHost, at } from '../../../../support/fake-fleet/rows.ts'

const old = { agentVersion: '0.0.9', upgradeAvailable: '0.1.0' }

describe('the plan of an update', () => {
  it('updates whose agent is another, and says why the others stay', () => {
    const plan = planUpgrade([
      aHost({ ...old, name: 'd' }),
      aHost({ name: 'c' }),
      aHost({ ...old, name: 'b', link: 'unreachable' }),
      aHost({ ...old, name: 'a', pendingUpgrade: { version: '0.1.0', ageS: 3n } }),
      aHost({ ...old, name: 'e', status: 'decommissioning' }),
    ])
    expect(plan.steps.map(({ host, from, to }) => [host.name, from, to])).toEqual([['d', '0.0.9', '0.1.0']])
    expect(plan.left.map(({ host, why }) => `${host.name} ${why}`)).toEqual([
      'a is being updated to 0.1.0 already',
      'b does not answer: its agent cannot be reached now',
      'c has the agent of this app',
      'e is being removed',
    ])
  })
})

describe('the outcome of an update', () => {
  const outcome = (state: string, detail = '') =>
    outcomeWords(aHost({ upgradeOutcome: { version: '0.1.0', state, detail, at: at(1) } }))
  it.each([
    ['verifying', 'busy'],
    ['restarting', 'busy'],
    ['done', 'good'],
    ['refused', 'warn'],
    ['rolled_back', 'bad'],
  ])('%s is told', (state, tone) => expect(outcome(state)?.tone).toBe(tone))

  it('says that the host went back by itself, and why', () => {
    expect(outcome('rolled_back', 'it did not answer')?.text).toBe(
      '0.1.0 did not come up: it did not answer. The host went back by itself.',
    )
    expect(outcomeWords(aHost())).toBeUndefined()
  })
})
