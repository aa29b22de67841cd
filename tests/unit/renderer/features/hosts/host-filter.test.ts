import { describe, expect, it } from 'vitest'
import {
  HOST_FILTER_FIELDS,
  HOST_VIEWS,
  hostFilterRecord,
} from '../../../../../src/renderer/features/hosts/host-filter.ts'
import { matchesFilter, parseFilter } from '../../../../../src/renderer/lib/filter.ts'
import { aHost, aHostClock, at } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30, 14)
const matches = (filter: string, change: Parameters<typeof aHost>[0]) =>
  matchesFilter(hostFilterRecord(aHost(change), NOW), parseFilter(filter, HOST_FILTER_FIELDS))

describe('a filter of hosts', () => {
  it.each([
    ['state:connected', {}],
    ['name:rack', {}],
    ['address:10.0.2', {}],
    ['address:"this computer"', { kind: 'local', address: '' }],
    ['os:debian', {}],
    ['arch:x86', {}],
    ['agent:0.1', {}],
    ['vms:9', { vms: 9 }],
    ['cpu:"12 %"', {}],
    ['ram:"128 GB"', {}],
    ['disk:TB', {}],
    ['clock:"in step"', { clock: aHostClock(NOW) }],
    ['seen:"3 h"', { lastSeenAt: at(NOW - 3 * 3_600_000) }],
    ['label:rack=2', { labels: { rack: '2' } }],
    ['draining:stop', { draining: 'stop' }],
    [
      'controller:desk',
      {
        link: 'held_by_other',
        linkFault: {
          code: 'agent/foreign-controller',
          disposition: 'permanent',
          params: { controller: 'desk' },
          id: 'x',
        },
      },
    ],
  ])('takes %s', (filter, change) => expect(matches(filter, change)).toBe(true))

  it('has a column for each field', () => {
    expect(Object.keys(hostFilterRecord(aHost(), NOW)).sort()).toEqual([...HOST_FILTER_FIELDS].sort())
  })
})

describe('the lists a person looks for', () => {
  const view = (name: string) => HOST_VIEWS.find((v) => v.name === name)?.filter ?? 'none'
  it.each([
    ['Unreachable', { link: 'unreachable' }],
    ['Key changed', { link: 'key_changed' }],
    ['Agent outdated', { upgradeAvailable: '0.2.0' }],
    ['Clock off', { clock: aHostClock(NOW, { state: 'not_synchronised' }) }],
    ['Draining', { draining: 'leave' }],
  ])('%s finds that host and not one that is well', (name, change) => {
    expect(matches(view(name), change)).toBe(true)
    expect(matches(view(name), { clock: aHostClock(NOW) })).toBe(false)
  })
})
