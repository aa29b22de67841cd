import { describe, expect, it } from 'vitest'
import { CHECK_MS, checkedOn, pendingHosts } from '../../../../src/renderer/state/checking.ts'
import { EMPTY_FLEET, type FleetSnapshot } from '../../../../src/renderer/state/fleet-store.ts'
import { aHost, at } from '../../../support/fake-fleet/rows.ts'

const SINCE = 1_000_000
const before = aHost({ id: 'before', lastSeenAt: at(SINCE - 5000) })
const heard = aHost({ id: 'heard', lastSeenAt: at(SINCE + 2000) })
const coming = aHost({ id: 'coming', link: 'connecting', lastSeenAt: at(SINCE - 5000) })
const lost = aHost({ id: 'lost', link: 'unreachable', lastSeenAt: at(SINCE - 5000) })

const fleet = (hosts: ReturnType<typeof aHost>[], live = true): FleetSnapshot => ({
  ...EMPTY_FLEET,
  hosts: new Map(hosts.map((h) => [h.id, h])),
  feed: live ? { state: 'live' } : { state: 'opening' },
})
const checking = { since: SINCE, pending: new Set(['before', 'heard', 'coming']) }

describe('after a sleep or a silence', () => {
  it('a host is checked once it reports again; one that does not answer says so by itself', () => {
    expect([...pendingHosts([before, heard, coming, lost], SINCE)]).toEqual(['before', 'coming'])
  })

  it('is over when every host is fresh', () => {
    expect(checkedOn(checking, fleet([heard, lost]), SINCE + 3000)).toEqual({ since: undefined, pending: new Set() })
  })

  it('does not end while this window is told nothing', () => {
    expect(checkedOn(checking, fleet([], false), SINCE + 3000)).toBe(checking)
  })

  it('ends after a while, whatever the hosts do: then their state words stand', () => {
    expect(checkedOn(checking, fleet([before]), SINCE + CHECK_MS + 1).since).toBeUndefined()
  })
})
