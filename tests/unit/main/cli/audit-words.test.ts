import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { AuditEntrySchema } from '../../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { changeWord } from '../../../../src/main/cli/audit-words.ts'

const word = (init: { detail?: Record<string, string>; before?: object; after?: object }) =>
  changeWord(
    create(AuditEntrySchema, {
      detail: init.detail ?? {},
      before: init.before ? JSON.stringify(init.before) : '',
      after: init.after ? JSON.stringify(init.after) : '',
    }),
  )

describe('an entry of the trail in a line', () => {
  it('says what was before and what is since', () => {
    const before = { power_state: 'running', mem_mb: 96, labels: {} }
    const after = { power_state: 'stopped', mem_mb: 128, labels: { a: 'b' } }
    expect(word({ detail: { name: 'web' }, before, after })).toBe(
      'name=web; power_state: running → stopped, mem_mb: 96 → 128, labels: {} → {"a":"b"}',
    )
  })

  it('says what there is of a thing that came or went, and nothing twice', () => {
    expect(word({ detail: { name: 'web' }, after: { name: 'web', vcpus: 2 } })).toBe('name=web; vcpus: 2')
    expect(word({ before: { network: '' } })).toBe('network: none')
    expect(word({ detail: { path: '/x' } })).toBe('path=/x')
  })

  it('stays short however much was changed', () => {
    const large = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`field_${i}`, 'x'.repeat(400)]))
    expect(word({ before: large, after: large }).length).toBe(160)
  })
})
