import { describe, expect, it } from 'vitest'
import type { Cause } from '../../../../../src/renderer/features/notices/causes.ts'
import {
  addNotices,
  isQuiet,
  MAX_NOTICES,
  newCauses,
  noticeText,
  noticeTitle,
} from '../../../../../src/renderer/features/notices/notice-list.ts'
import { readNotices } from '../../../../../src/renderer/features/notices/notice-store.ts'

const MIN = 60_000
const lost = (name: string): Cause => ({
  key: `host-lost:${name}`,
  kind: 'host-lost',
  tone: 'bad',
  subject: name,
  title: `No answer from ${name} for 2 min`,
  text: 'Eitri tries again by itself.',
  address: `eitri://host/${name}`,
})

describe('telling', () => {
  it('begins with nothing: what was so at the first run is known already', () => {
    const first = newCauses(undefined, [lost('a')], 0)
    expect(first.fresh).toEqual([])
    expect(newCauses(first.told, [lost('a'), lost('b')], 1000).fresh.map((c) => c.subject)).toEqual(['b'])
  })

  it('happens once for each cause, and again when it was gone for ten minutes', () => {
    let told = newCauses(new Map(), [lost('a')], 0).told
    told = newCauses(told, [lost('a')], 30 * MIN).told
    expect(newCauses(told, [lost('a')], 35 * MIN).fresh).toEqual([])
    const flapped = newCauses(told, [], 36 * MIN).told
    expect(newCauses(flapped, [lost('a')], 37 * MIN).fresh).toEqual([])
    const gone = newCauses(told, [], 41 * MIN).told
    expect(newCauses(gone, [lost('a')], 42 * MIN).fresh).toHaveLength(1)
  })
})

describe('the bell', () => {
  it('tells of one thing by its own words', () => {
    const [notice] = addNotices([], [lost('edge-1')], 0)
    expect(noticeTitle(notice!)).toBe('No answer from edge-1 for 2 min')
    expect(noticeText(notice!)).toBe('Eitri tries again by itself.')
  })

  it('tells of several of one kind together, each with its own object', () => {
    const notices = addNotices(addNotices([], [lost('a'), lost('b')], 0), [lost('c')], 30_000)
    expect(notices).toHaveLength(1)
    expect(noticeTitle(notices[0]!)).toBe('3 hosts lost')
    expect(notices[0]!.items.map((i) => i.address)).toEqual(['eitri://host/a', 'eitri://host/b', 'eitri://host/c'])
  })

  it('begins a new one after a minute, or when the one before was read', () => {
    const before = addNotices([], [lost('a')], 0)
    expect(addNotices(before, [lost('b')], 2 * MIN)).toHaveLength(2)
    const read = before.map((n) => ({ ...n, read: true }))
    expect(addNotices(read, [lost('b')], 1000)).toHaveLength(2)
  })

  it('keeps a bounded number, the newest first', () => {
    let notices = addNotices([], [lost('a')], 0)
    for (let i = 1; i < MAX_NOTICES + 20; i++) notices = addNotices(notices, [lost(`h${i}`)], i * 2 * MIN)
    expect(notices).toHaveLength(MAX_NOTICES)
    expect(notices[0]?.items[0]?.subject).toBe(`h${MAX_NOTICES + 19}`)
  })

  it('reads what was kept, and leaves out what is no notice', () => {
    const kept = addNotices([], [lost('a')], 7)
    const stored = JSON.stringify({ notices: [...kept, { id: 3 }, null], told: ['host-lost:a'] })
    expect(readNotices(stored, 99)).toEqual({ notices: kept, told: new Map([['host-lost:a', 99]]) })
    expect(readNotices('{', 0)).toEqual({ notices: [], told: undefined })
  })

  it.each([
    ['of a kind a later version has', { kind: 'moon-phase' }],
    ['of a tone nobody knows', { tone: 'purple' }],
    ['of no moment', { at: 1e300 }],
    ['with an item that is none', { items: [null] }],
    ['with an item without an address', { items: [{ subject: 'a', title: 'b', text: 'c' }] }],
    ['that may be read or not', { read: 'yes' }],
  ])('leaves out one %s, which would break the bell at every start', (_, change) => {
    const [notice] = addNotices([], [lost('a')], 7)
    expect(readNotices(JSON.stringify({ notices: [{ ...notice, ...change }, notice] }), 0).notices).toEqual([notice])
  })
})

describe('quiet hours', () => {
  const at = (clock: string) => new Date(`2026-03-02T${clock}:00`)
  it.each([
    ['over midnight', { on: true, from: '22:00', to: '07:00' }, ['23:10', '06:59'], ['07:00', '21:59']],
    ['within a day', { on: true, from: '12:00', to: '13:00' }, ['12:00', '12:59'], ['13:00', '11:59']],
    ['switched off', { on: false, from: '00:00', to: '23:59' }, [], ['03:00']],
  ])('%s', (_, quiet, within, outside) => {
    expect(within.every((clock) => isQuiet(quiet, at(clock)))).toBe(true)
    expect(outside.some((clock) => isQuiet(quiet, at(clock)))).toBe(false)
  })
})
