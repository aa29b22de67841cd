import { describe, expect, it } from 'vitest'
import {
  ACTIVITY_FIELDS,
  activityQuery,
  sinceOf,
  withField,
} from '../../../../../src/renderer/features/activity/audit-query.ts'
import { parseFilter } from '../../../../../src/renderer/lib/filter.ts'

const NOW = Date.UTC(2026, 10, 30, 14, 2, 11)
const KNOWN = { vms: new Set(['web-12']), hosts: new Set(['rack2-07']) }
const query = (text: string) => activityQuery(parseFilter(text, ACTIVITY_FIELDS), KNOWN, NOW)
const EMPTY = { vm: '', host: '', action: '', requestId: '', result: '', sinceMs: undefined }

describe('a filter of activity', () => {
  it.each([
    ['vm:web-12', { vm: 'web-12' }],
    ['host:rack2-07', { host: 'rack2-07' }],
    [`vm:${'a'.repeat(32)}`, { vm: 'a'.repeat(32) }],
    ['action:vm.create', { action: 'vm.create' }],
    ['action:vm.', { action: 'vm.' }],
    ['action:host.sign-in', { action: 'host.sign-in' }],
    ['request:0b12-77aa-51fe', { requestId: '0b12-77aa-51fe' }],
    ['since:2h', { sinceMs: NOW - 7_200_000 }],
  ])('%s narrows the trail itself', (text, trail) => {
    expect(query(text)).toEqual({ trail: { ...EMPTY, ...trail }, rest: [], problem: undefined })
  })

  it.each(['vm:web', 'action:create', '-vm:web-12', 'user:ada', 'client:mcp', 'disk', 'request:0b12'])(
    '%s looks through what was read',
    (text) => {
      const { trail, rest } = query(text)
      expect([trail, rest.length]).toEqual([EMPTY, 1])
    },
  )

  it('of two VMs asks for one and finds nothing rather than both', () => {
    expect(query(`vm:web-12 vm:${'a'.repeat(32)}`).rest).toHaveLength(1)
  })

  it('says what is no time', () => {
    expect(query('since:yesterday').problem).toContain('since:yesterday is no time')
    expect(query('-since:2h').problem).toBeDefined()
    expect(query('since:').problem).toBeUndefined()
  })

  it('of two times takes the later one', () => expect(query('since:2d since:1h').trail.sinceMs).toBe(NOW - 3_600_000))
})

describe('a time', () => {
  it.each(['2x', '2026-13-01', 'h', '', '-2h', '2026-11-30t99:00'])('is not "%s"', (text) => {
    expect(sinceOf(text, NOW)).toBeUndefined()
  })

  it('is a local day or minute', () => {
    expect(sinceOf('2026-11-30', NOW)).toBe(new Date(2026, 10, 30).getTime())
    expect(sinceOf('2026-11-30t14:02', NOW)).toBe(new Date(2026, 10, 30, 14, 2).getTime())
  })
})

describe('narrowing by what an entry says', () => {
  it.each([
    ['', 'user:ada'],
    ['disk', 'disk user:ada'],
    ['user:bob disk', 'disk user:ada'],
    ['-user:bob', '-user:bob user:ada'],
    ['"two words"', '"two words" user:ada'],
  ])('turns "%s" into "%s"', (filter, next) => expect(withField(filter, 'user', 'ada')).toBe(next))

  it('quotes what has a blank', () => expect(withField('', 'user', 'a b')).toBe('user:"a b"'))
})
