import { describe, expect, it } from 'vitest'
import {
  type CacheItem,
  type CollectionInput,
  lowBytes,
  PART_UNUSED_MS,
  PRESSURE_UNUSED_MS,
  planCollection,
  UNUSED_MS,
} from '../../../../src/agent/images/gc-plan.ts'
import { GiB } from '../../../../src/ipc/units.ts'

const anItem = (name: string, change: Partial<CacheItem> = {}): CacheItem => ({
  sha256: name.repeat(64),
  whole: true,
  bytes: GiB,
  unusedMs: 0,
  users: [],
  busy: false,
  ...change,
})
const plan = (items: CacheItem[], change: Partial<CollectionInput> = {}) => {
  const { remove, keep } = planCollection({ items, unknown: '', free: 100 * GiB, total: 1000 * GiB, ...change })
  const brief = (list: { sha256: string; reason: string }[]) => list.map((i) => `${i.sha256[0]} ${i.reason}`)
  return { remove: brief(remove), keep: brief(keep) }
}

describe('what goes from the image cache', () => {
  it('is what nothing has referred to for fourteen days, and unfinished images after seven', () => {
    const items = [
      anItem('a', { unusedMs: UNUSED_MS }),
      anItem('b', { unusedMs: UNUSED_MS - 1 }),
      anItem('c', { unusedMs: PART_UNUSED_MS, whole: false }),
      anItem('d', { unusedMs: PART_UNUSED_MS - 1, whole: false }),
    ]
    expect(plan(items)).toEqual({ remove: ['a age', 'c age'], keep: ['b recent', 'd recent'] })
  })

  it.each<[string, Partial<CacheItem>, string]>([
    ['a VM refers to, whatever its age', { users: ['web-1'] }, 'in_use'],
    ['is being transferred', { busy: true }, 'transfer'],
  ])('is never what %s, not even when the disk is full and a person wants all gone', (_what, change, reason) => {
    const kept = [anItem('a', { unusedMs: 10 * UNUSED_MS, ...change })]
    expect(plan(kept, { all: true, free: 0, missing: GiB })).toEqual({ remove: [], keep: [`a ${reason}`] })
  })

  it('is nothing while it is not known what is in use', () => {
    const items = [anItem('a', { unusedMs: UNUSED_MS }), anItem('b', { unusedMs: UNUSED_MS, whole: false })]
    const unknown = 'the record of VM 1 cannot be read'
    expect(plan(items, { unknown, all: true, free: 0 })).toEqual({ remove: [], keep: ['a unknown', 'b unknown'] })
  })

  it('is the longest unused first while the disk is low, and no more than it takes', () => {
    const old = (name: string, hours: number) => anItem(name, { unusedMs: hours * 3_600_000 })
    const items = [old('a', 2), old('b', 30), old('c', 5)]
    expect(plan(items, { free: 10 * GiB - 1 })).toEqual({ remove: ['b pressure'], keep: ['c recent', 'a recent'] })
    expect(plan(items, { free: 8 * GiB }).remove).toEqual(['b pressure', 'c pressure'])
    expect(plan(items, { free: 0 }).remove).toEqual(['b pressure', 'c pressure', 'a pressure'])
    expect(plan(items, { free: 10 * GiB }).remove).toEqual([])
  })

  it('is what makes room for bytes somebody needs now', () => {
    const items = [anItem('a', { unusedMs: 7_200_000 }), anItem('b', { unusedMs: 7_300_000 })]
    expect(plan(items, { missing: 1 }).remove).toEqual(['b pressure'])
    expect(plan(items, { missing: GiB + 1 }).remove).toEqual(['b pressure', 'a pressure'])
  })

  it('is not what came or was used within the hour, full disk or not: its VM may be on its way', () => {
    const items = [anItem('a', { unusedMs: PRESSURE_UNUSED_MS - 1 })]
    expect(plan(items, { free: 0, missing: GiB })).toEqual({ remove: [], keep: ['a recent'] })
  })

  it('is everything nothing refers to when a person wants it', () => {
    const items = [anItem('a'), anItem('b', { whole: false }), anItem('c', { users: ['db'] })]
    expect(plan(items, { all: true })).toEqual({ remove: ['a asked', 'b asked'], keep: ['c in_use'] })
  })

  it('frees room before what age takes has been counted twice', () => {
    const items = [anItem('a', { unusedMs: UNUSED_MS }), anItem('b', { unusedMs: 7_200_000 })]
    expect(plan(items, { missing: GiB })).toEqual({ remove: ['a age'], keep: ['b recent'] })
  })

  it('counts a twentieth of a small disk as low, ten gibibytes of a large one', () => {
    expect(lowBytes(20 * GiB)).toBe(GiB)
    expect(lowBytes(4000 * GiB)).toBe(10 * GiB)
  })
})
