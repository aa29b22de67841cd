import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { UpgradeOutcomeSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { compareVersions, OwnAgent } from '../../../../../src/main/control/hosts/own-agent.ts'
import { UpgradeOffers } from '../../../../../src/main/control/hosts/upgrade-offers.ts'
import { ManualClock } from '../a-clock.ts'

const HOST = 'a'.repeat(32)
const OFFER = { version: '2.0.0', digest: 'd'.repeat(64), sha256: 'e'.repeat(64), stagedPath: '/x' }
const NEW = { features: ['upgrade'] }
const said = (state: string, seconds = 1n, sha256 = OFFER.sha256) =>
  create(UpgradeOutcomeSchema, { version: '2.0.0', sha256, state, at: { seconds } })

function someOffers() {
  const told: string[] = []
  const clock = new ManualClock()
  const offers = new UpgradeOffers({
    poke: (id) => told.push(`poke ${id}`),
    changed: (id) => told.push(`changed ${id}`),
    clock,
  })
  return { offers, told, clock }
}

describe('an offered upgrade', () => {
  it('rides in the snapshots to its host and is shown with its age, until then there is none', async () => {
    const { offers, told, clock } = someOffers()
    expect(offers.pending(HOST)).toBeUndefined()
    offers.offer(HOST, OFFER, undefined)
    await clock.advance(7_900)
    expect(offers.pending(HOST)).toEqual({ version: '2.0.0', ageS: 7 })
    expect(offers.wire(HOST, NEW)).toMatchObject({ version: '2.0.0', sha256: OFFER.sha256, stagedPath: '/x' })
    expect(offers.wire('b'.repeat(32), NEW)).toBeUndefined()
    expect(told).toEqual([`poke ${HOST}`, `changed ${HOST}`])
  })

  it('is never sent to an agent that does not say it takes offers', () => {
    const { offers } = someOffers()
    offers.offer(HOST, OFFER, undefined)
    expect(offers.wire(HOST, { features: [] })).toBeUndefined()
    expect(offers.wire(HOST, undefined)).toBeUndefined()
    expect(offers.pending(HOST)).toBeDefined()
  })

  it.each([
    [{ agentVersion: '2.0.0', agentDigest: OFFER.digest }, false],
    [{ agentVersion: '2.0.0', agentDigest: '' }, false],
    [{ agentVersion: '2.0.0', agentDigest: 'f'.repeat(64) }, true],
    [{ agentVersion: '1.0.0', agentDigest: OFFER.digest }, true],
  ])('after a Hello of %j is still there: %s', (hello, there) => {
    const { offers } = someOffers()
    offers.offer(HOST, OFFER, undefined)
    offers.heard(HOST, hello)
    expect(offers.has(HOST)).toBe(there)
  })

  it('goes with its host, and with the process that made it', () => {
    const { offers } = someOffers()
    offers.offer(HOST, OFFER, undefined)
    offers.clear(HOST)
    expect(offers.wire(HOST, NEW)).toBeUndefined()
    expect(someOffers().offers.pending(HOST)).toBeUndefined()
  })

  it('that its host refused or went back from is not offered on; what it said before of the same file is no answer', () => {
    const { offers } = someOffers()
    const before = said('rolled_back')
    offers.offer(HOST, OFFER, before)
    offers.reported(HOST, before)
    offers.reported(HOST, said('verifying', 2n))
    offers.reported(HOST, said('refused', 2n, 'f'.repeat(64)))
    expect(offers.has(HOST)).toBe(true)
    offers.reported(HOST, said('rolled_back', 3n))
    expect(offers.has(HOST)).toBe(false)
  })
})

describe('versions of agents', () => {
  it('are compared by their numbers, and a release is newer than what led to it', () => {
    const sorted = ['0.9.0', '0.10.0-rc.1', '0.10.0-rc.2', '0.10.0', '1.0.0', '10.0.0']
    expect([...sorted].reverse().sort(compareVersions)).toEqual(sorted)
    expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
    expect(compareVersions('nonsense', '0.0.1')).toBeLessThan(0)
  })

  it('where none was built nothing is available', () => {
    expect(new OwnAgent('/nowhere').availableFor({ agentVersion: '0.1.0', agentDigest: '' })).toBe('')
  })
})
