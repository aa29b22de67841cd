import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, it } from 'vitest'
import { AuditEntrySchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { ACTIVITY_FIELDS, activityQuery } from '../../../../../src/renderer/features/activity/audit-query.ts'
import { matching } from '../../../../../src/renderer/features/activity/entries.ts'
import { resultState, tookText } from '../../../../../src/renderer/features/activity/result.ts'
import { auditSentence } from '../../../../../src/renderer/features/activity/view-model.ts'
import { parseFilter } from '../../../../../src/renderer/lib/filter.ts'

const entry = (change: object) => create(AuditEntrySchema, { action: 'vm.stop', detail: { name: 'web-1' }, ...change })
const none = { vms: new Set<string>(), hosts: new Set<string>() }
const queryOf = (filter: string) => activityQuery(parseFilter(filter, ACTIVITY_FIELDS), none, 0)

it('a result is a word with a colour of its own, and none where nobody knows', () => {
  expect(resultState({ result: 'failed' })).toEqual({ word: 'Failed', tone: 'bad' })
  expect(resultState({ result: 'superseded' })?.word).toBe('Superseded')
  expect(resultState({ result: 'of a later version' })).toEqual({ word: 'of a later version', tone: 'unknown' })
  expect(resultState({ result: '' })).toBeUndefined()
})

it('what ended says how long it took, what runs how long it has taken', () => {
  const at = timestampFromMs(1000)
  expect(tookText({ result: 'done', tookMs: 3200n, at }, 99_000)).toBe('3.2 s')
  expect(tookText({ result: 'running', tookMs: undefined, at }, 6000)).toBe('5.0 s')
  expect(tookText({ result: 'done', tookMs: undefined, at }, 6000)).toBe('')
})

it('what was asked of a host is told as done once it is', () => {
  const about = { vm: 'web-1', host: 'rack' }
  expect(auditSentence(entry({ result: 'running' }), about).text).toBe('VM web-1 was asked to stop')
  expect(auditSentence(entry({ result: 'done' }), about).text).toBe('VM web-1 stopped')
  expect(auditSentence(entry({ result: 'failed' }), about).text).toBe('VM web-1 was asked to stop')
})

it('a task that left nothing else is told by what it was to do', () => {
  const detail = { name: 'edge-2', kind: 'add_host', took_ms: '31200' }
  const about = { vm: undefined, host: undefined }
  expect(auditSentence(entry({ action: 'task.end', detail }), about)).toEqual({ text: 'Adding host edge-2', more: '' })
})

it('a filter for a result goes to the trail; one that is half typed or excluded looks through what was read', () => {
  expect(queryOf('result:failed').trail.result).toBe('failed')
  expect(queryOf('result:FAILED').trail.result).toBe('failed')
  expect(queryOf('result:fai').rest).toHaveLength(1)
  const { trail, rest } = queryOf('-result:done')
  expect(trail.result).toBe('')
  const entries = [entry({ result: 'done' }), entry({ result: 'failed' })]
  const names = { vm: () => undefined, host: () => undefined }
  expect(matching(entries, rest, names).map(({ result }) => result)).toEqual(['failed'])
})
