import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { AuditEntrySchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { changeHeads, changesOf } from '../../../../../src/renderer/features/activity/changes.ts'
import { byDay, matching, whoWords } from '../../../../../src/renderer/features/activity/entries.ts'
import { lineOf, readExport } from '../../../../../src/renderer/features/activity/export-trail.ts'
import { parseFilter } from '../../../../../src/renderer/lib/filter.ts'

const NOW = new Date(2026, 10, 30, 14, 2).getTime()
const NAMES = { vm: (id: string) => (id === 'v' ? 'web-12' : undefined), host: () => undefined }
const entry = (change: MessageInitShape<typeof AuditEntrySchema> = {}) =>
  create(AuditEntrySchema, { id: '7', action: 'vm.update', vmId: 'v', at: timestampFromMs(NOW), ...(change as object) })
const edit = (before: object | '', after: object | '') =>
  entry({ before: before && JSON.stringify(before), after: after && JSON.stringify(after) })

describe('what an entry changed', () => {
  it('is told field by field, objects by their keys', () => {
    const changed = edit({ mem_mb: 512, labels: { app: 'shop', old: '' } }, { mem_mb: 1024, labels: { app: 'web' } })
    expect(changesOf(changed)).toEqual([
      { field: 'memory, MiB', before: '512', after: '1024' },
      { field: 'labels app', before: 'shop', after: 'web' },
      { field: 'labels old', before: 'set', after: '' },
    ])
  })

  it.each([
    [true, 'yes'],
    [['a', 'b'], 'a, b'],
    [null, ''],
    [{}, ''],
    ['x\u202e', 'x'],
  ])('says %j as "%s"', (value, words) => expect(changesOf(edit('', { field: value }))[0]?.after ?? '').toBe(words))

  it('has the heads of what it was: made, changed, taken away, or nothing', () => {
    expect([
      changeHeads(edit('', { a: 1 })),
      changeHeads(edit({ a: 1 }, { a: 2 })),
      changeHeads(edit({ a: 1 }, '')),
      changeHeads(entry()),
    ]).toEqual([['', 'Made with'], ['Before', 'After'], ['It had', ''], undefined])
  })

  it('survives what is no JSON', () => expect(changesOf({ before: '{', after: '[1]' })).toEqual([]))
})

describe('who', () => {
  it.each([
    ['ada', 'app', 'ada, from the app'],
    ['ada', 'mcp', 'ada, from a model'],
    ['', 'eitri', 'by itself'],
    ['ada', 'eitri', 'by itself'],
    ['', '', 'not kept'],
    ['ada', '', 'ada'],
    ['ada', 'pager', 'ada, from pager'],
  ])('%s through "%s" is "%s"', (user, client, words) => expect(whoWords({ user, client })).toBe(words))
})

describe('days', () => {
  it('head the entries that were written on them', () => {
    const at = (...when: [number, number, number]) => entry({ at: timestampFromMs(new Date(...when, 12).getTime()) })
    const days = byDay([entry(), at(2026, 10, 29), at(2026, 10, 29), at(2026, 9, 2), at(2025, 11, 31)], NOW)
    expect(days.map(({ title, entries }) => [title, entries.length])).toEqual([
      ['Today', 1],
      ['Yesterday', 2],
      ['2 Oct', 1],
      ['31 Dec 2025', 1],
    ])
  })
})

describe('an export', () => {
  const filter = (text: string) => parseFilter(text, ['user'])
  async function* pages(...all: ReturnType<typeof entry>[][]) {
    for (const entries of all) yield { entries }
  }

  it('holds one object a line, with names as in the contracts', () => {
    expect(JSON.parse(lineOf(entry({ requestId: 'r' })))).toMatchObject({
      id: '7',
      vm_id: 'v',
      request_id: 'r',
      user: '',
    })
  })

  it('keeps what the filter leaves, and says how far it is', async () => {
    const seen: number[] = []
    const given = { terms: filter('user:ada'), names: NAMES, onRead: (n: number) => seen.push(n) }
    const exported = await readExport(pages([entry({ user: 'ada' }), entry({ user: 'bob' })], [entry()]), given)
    expect([exported.entries, exported.parts.length, exported.cut, seen]).toEqual([1, 1, false, [1, 1]])
  })

  it('stops at what one file may hold, and says so', async () => {
    const given = { terms: [], names: NAMES, onRead: () => undefined }
    const exported = await readExport(pages([entry()], [entry()], [entry()]), given, lineOf(entry()).length * 2)
    expect([exported.entries, exported.cut]).toEqual([2, true])
  })
})

it('bare words find an entry by its sentence and by what changed', () => {
  const entries = [edit({ mem_mb: 512 }, { mem_mb: 1024 }), entry({ action: 'vm.start' })]
  const find = (text: string) => matching(entries, parseFilter(text, []), NAMES).length
  expect([find('1024'), find('asked'), find('web-12'), find('nothing')]).toEqual([1, 1, 2, 0])
})
