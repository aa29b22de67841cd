import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changedFields } from '../../../../../src/main/control/store/changed-fields.ts'

const parsed = (before: object | undefined, after: object | undefined) => {
  const changed = changedFields(before, after)
  return changed && [changed.before && JSON.parse(changed.before), changed.after && JSON.parse(changed.after)]
}

describe('what a mutation changed', () => {
  it('is the fields that differ, in the names of the wire, and nothing when none does', () => {
    expect(parsed({ name: 'a', memMb: 1, labels: { x: '1' } }, { name: 'a', memMb: 2, labels: { x: '1' } })).toEqual([
      { mem_mb: 1 },
      { mem_mb: 2 },
    ])
    expect(parsed({ a: 1, at: new Date(5), n: 3n }, { a: 1, at: new Date(5), n: 3n })).toBeUndefined()
    expect(parsed({ note: '' }, { note: null })).toBeUndefined()
  })

  it('of a new thing is all that is said of it, of a gone one all that was', () => {
    expect(parsed(undefined, { name: 'a', epoch: 7n, id: 'x', note: '' })).toEqual([undefined, { name: 'a' }])
    expect(parsed({ name: 'a' }, undefined)).toEqual([{ name: 'a' }, undefined])
  })

  it('never holds a secret or user-data, however deep', () => {
    const was = { password: 'hunter1', ssh: { sudoPassword: 'hunter2', user: 'ops' }, cloudInit: new Uint8Array([1]) }
    const is = { password: 'hunter3', ssh: { sudoPassword: 'hunter4', user: 'ops' }, cloudInit: new Uint8Array([2]) }
    expect(parsed(was, is)).toEqual([
      { password: '(secret)', ssh: { sudoPassword: '(secret)', user: 'ops' }, cloud_init: '(not kept)' },
      { password: '(secret)', ssh: { sudoPassword: '(secret)', user: 'ops' }, cloud_init: '(not kept)' },
    ])
  })

  it('says that a secret changed, though not to what', () => {
    expect(parsed({ token: 'a' }, { token: 'b' })).toEqual([{ token: '(secret)' }, { token: '(secret)' }])
  })

  it('is JSON of at most 8 KiB on each side whatever the values', () => {
    const value = fc.oneof(fc.string({ maxLength: 5_000 }), fc.jsonValue(), fc.bigInt(), fc.date(), fc.uint8Array())
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value, { maxKeys: 60 }), fc.dictionary(fc.string(), value), (a, b) => {
        const changed = changedFields(a, b)
        for (const side of [changed?.before, changed?.after]) {
          if (side === undefined) continue
          expect(side.length).toBeLessThanOrEqual(8_192)
          expect(typeof JSON.parse(side)).toBe('object')
        }
      }),
      { numRuns: 200 },
    )
  })
})
