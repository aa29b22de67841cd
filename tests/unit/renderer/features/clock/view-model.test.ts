import { describe, expect, it } from 'vitest'
import type { Host } from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { GuestTallies } from '../../../../../src/renderer/features/clock/guest-tallies.ts'
import {
  CLOCK_FILTER_FIELDS,
  clockFilterRecord,
  clockRank,
  guestRow,
  hasClock,
  headlineOf,
  hostRow,
  stripWord,
  whyNotSettable,
} from '../../../../../src/renderer/features/clock/view-model.ts'
import { matchesFilter, parseFilter } from '../../../../../src/renderer/lib/filter.ts'
import { aGuestClock, aHost, aHostClock, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = new Date(2026, 10, 30, 14, 2, 11).getTime()
const off = (ms: number) => aGuestClock(ms, NOW)
const headline = (hosts: Host[], vms: Vm[]) => headlineOf(hosts, new GuestTallies().update(vms))

describe('a row of the Clock page', () => {
  it('says how far a guest is off, what that breaks and what was done', () => {
    const clock = off(-41_200)
    clock.lastAct = { ...clock, ...ACT, at: at(NOW - 151_000) } as never
    expect(guestRow(aVm({ name: 'db-3', hostName: 'rack2-07', clock, clockPolicy: 'auto' }), NOW)).toMatchObject({
      ...{ kind: 'guest', name: 'db-3', on: 'rack2-07', offset: '41.2 s behind', source: 'guest agent', kept: 'auto' },
      ...{ state: { word: 'Jumped (41.2 s behind)', tone: 'bad' }, asOf: '' },
      ...{ breaks: 'one-time sign-in codes (TOTP)' },
      act: '13:59:40 could not be set (after it was resumed, was 41.2 s behind): the guest agent is silent',
    })
  })

  it('has no number where nothing was measured', () => {
    for (const vm of [aVm(), aVm({ clock: { ...off(0), source: '', offsetUs: undefined } as never })])
      expect(guestRow(vm, NOW)).toMatchObject({
        ...{ state: { word: 'Not reported', tone: 'unknown' }, offset: '', breaks: '', asOf: '' },
      })
    expect(hostRow(aHost(), NOW)).toMatchObject({ state: { word: 'Not reported' }, offset: '', source: '', kept: '' })
  })

  it('loses its colour and has its age once it is last known', () => {
    const old = { word: 'Jumped (41.2 s behind)', tone: 'unknown' }
    const stale = { ...off(-41_200), stale: true, measuredAt: at(NOW - 600_000) }
    expect(guestRow(aVm({ clock: stale }), NOW)).toMatchObject({ state: old, asOf: '13:52:11' })
    expect(guestRow(aVm({ clock: off(-41_200), hostUnknown: true }), NOW)).toMatchObject({ state: old })
    const away = aHost({ link: 'unreachable', clock: aHostClock(NOW, { state: 'not_synchronised' }) })
    expect(hostRow(away, NOW).state.tone).toBe('unknown')
  })

  it('says who is wrong where a host and this computer differ', () => {
    const clock = aHostClock(NOW, { wrong: 'host', appOffsetUs: 301_000_000n, state: 'not_synchronised' })
    expect(hostRow(aHost({ clock }), NOW)).toMatchObject({
      ...{ kept: '5 min 1 s ahead of this computer: this host is wrong', source: 'chrony from 10.0.0.1, stratum 3' },
      state: { word: 'Not synchronised (5 min 1 s ahead)', tone: 'warn' },
      breaks: 'Kerberos: domain logons, SMB, SQL Server',
    })
  })

  it('stands where it needs a person, hosts before their guests', () => {
    const rows = [
      guestRow(aVm({ name: 'fine', clock: off(1) }), NOW),
      guestRow(aVm({ name: 'mute' }), NOW),
      guestRow(aVm({ name: 'drift', clock: off(300) }), NOW),
      hostRow(aHost({ name: 'loose', clock: aHostClock(NOW, { state: 'not_synchronised' }) }), NOW),
      guestRow(aVm({ name: 'gone', clock: off(9000) }), NOW),
    ]
    const sorted = rows.toSorted((a, b) => (clockRank(a) < clockRank(b) ? -1 : 1))
    expect(sorted.map(({ name }) => name)).toEqual(['gone', 'loose', 'drift', 'mute', 'fine'])
  })

  it('is found by its word, its host and its kind', () => {
    const row = guestRow(aVm({ name: 'db-3', hostName: 'rack', clock: off(-9000) }), NOW)
    const found = (text: string) => matchesFilter(clockFilterRecord(row), parseFilter(text, CLOCK_FILTER_FIELDS))
    expect(['state:jumped', 'host:rack kind:guest', 'db', '-kind:host'].map(found)).toEqual([true, true, true, true])
    expect(['state:step', 'kind:host', 'host:edge'].map(found)).toEqual([false, false, false])
  })
})

const ACT = {
  ...{ cause: 'resume', means: 'set_time', result: 'failed', detail: 'the guest agent is silent' },
  offsetBeforeUs: -41_200_000n,
}

describe('setting a clock by hand', () => {
  it('is offered for a running guest whose policy leaves it to the host', () => {
    for (const clockPolicy of ['auto', 'host-only', 'network', 'windows-standalone'])
      expect(whyNotSettable(aVm({ clockPolicy, clock: aGuestClock(2, NOW) }))).toBeUndefined()
  })

  it('says why not otherwise', () => {
    expect(whyNotSettable(aVm({ power: 'stopped' }))).toMatch(/does not run/)
    expect(whyNotSettable(aVm({ hostUnknown: true, hostName: 'rack' }))).toMatch(/rack is not answering/)
    expect(whyNotSettable(aVm({ unowned: true }))).toMatch(/not in this fleet/)
    expect(whyNotSettable(aVm({ clockPolicy: 'windows-domain' }))).toMatch(/Windows domain/)
    const silent = { detail: 'Nothing answers in the guest.' } as never
    expect(whyNotSettable(aVm({ clock: silent }))).toBe(
      'Nothing answers in the guest. Install or start qemu-guest-agent in it; its clock is read within a minute then, and can be set from here.',
    )
    expect(whyNotSettable(aVm())).toMatch(/^Nothing in the guest has told its time yet\. Install/)
  })

  it('is not for what does not run or is deleted: they have no row', () => {
    expect([aVm({ power: 'stopped' }), aVm({ deletedAt: at(NOW) }), aVm()].map(hasClock)).toEqual([false, false, true])
  })
})

describe('the sentence above all clocks', () => {
  const host = aHost({ clock: aHostClock(NOW) })

  it('counts only what is known now', () => {
    const unknown = aVm({ name: 'far', clock: off(-9000), hostUnknown: true })
    const stale = aVm({ name: 'old', clock: { ...off(-9000), stale: true } })
    const stopped = aVm({ name: 'down', clock: off(-9000), power: 'stopped' })
    expect(headline([host], [unknown, stale, stopped, aVm({ clock: off(1) })])).toMatchObject({
      text: 'Every clock that is reported is in step.',
      next: '',
    })
    const away = aHost({ link: 'unreachable', clock: aHostClock(NOW, { wrong: 'host', appOffsetUs: 9_000_000n }) })
    expect(headline([away], []).tone).toBe('unknown')
  })

  it('names the guest a person can set, among any number in step', () => {
    const db = aVm({ name: 'db', clock: off(-9000) })
    const many = Array.from({ length: 50 }, () => aVm({ clock: off(2) }))
    expect(headline([host], [...many, db])).toMatchObject({ tone: 'bad', guestId: db.id })
    expect(headline([host], [...many, aVm(), aVm()]).next).toMatch(/^2 guests do not report/)
  })

  it('is one word in the strip', () => {
    expect(
      (['good', 'warn', 'bad', 'unknown'] as const).map((tone) => stripWord({ tone, text: '', next: '' })),
    ).toEqual([...['Clocks in step', 'Check clocks', 'Clock off', 'No clock reported']])
  })
})
