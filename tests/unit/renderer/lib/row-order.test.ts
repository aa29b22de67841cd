import { describe, expect, it } from 'vitest'
import { RowOrder, sortKeyOf } from '../../../../src/renderer/lib/row-order.ts'

interface Row {
  id: string
  name: string
  load?: number | undefined
}

const row = (id: string, load?: number): Row => ({ id, name: id, load })
const byName = { id: 'name', desc: false, key: (r: Row) => r.name }
const byLoad = { id: 'load', desc: false, key: (r: Row) => r.load }
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).join(' ')
const anOrder = () => new RowOrder<Row>((r) => r.id)

describe('rows in order', () => {
  it('sorts numbers in text as numbers, and capitals beside small letters', () => {
    expect(ids(anOrder().update([row('web-10'), row('Web-2'), row('db')], byName))).toBe('db Web-2 web-10')
  })

  it('puts what has no key last, whichever way it is sorted', () => {
    const rows = [row('a'), row('b', 1), row('c', 2)]
    expect(ids(anOrder().update(rows, byLoad))).toBe('b c a')
    expect(ids(anOrder().update(rows, { ...byLoad, desc: true }))).toBe('c b a')
    expect(sortKeyOf(Number.NaN)).toBeUndefined()
  })

  it('puts a changed row where it belongs and leaves all others their identity', () => {
    const order = anOrder()
    const rows = [row('a', 1), row('b', 2), row('c', 3), ...Array.from({ length: 20 }, (_, i) => row(`z${i}`, 10 + i))]
    const before = order.update(rows, byLoad)
    const after = order.update([row('a', 9), ...rows.slice(1)], byLoad)
    expect(ids(after.slice(0, 3))).toBe('b c a')
    expect(after[0]).toBe(before[1])
    expect(after[0]?.row).toBe(rows[1])
  })

  it('has the newest row in its place when the change moves nothing', () => {
    const order = anOrder()
    const rows = [row('a', 1), row('b', 2)]
    const before = order.update(rows, byName)
    const newer = row('b', 7)
    const after = order.update([rows[0]!, newer], byName)
    expect(after).not.toBe(before)
    expect(after[1]?.row).toBe(newer)
  })

  it('takes rows in and lets rows go', () => {
    const order = anOrder()
    order.update([row('a'), row('c')], byName)
    expect(ids(order.update([row('c'), row('b')], byName))).toBe('b c')
    expect(ids(order.update([], byName))).toBe('')
  })

  it('gives rows that left and came back the place they have by their newest key', () => {
    const order = anOrder()
    const all = Array.from({ length: 30 }, (_, i) => row(`r${i}`, i))
    order.update(all, byLoad)
    expect(ids(order.update(all.slice(3, 6), byLoad))).toBe('r3 r4 r5')
    const changed = all.map((one) => (one.id === 'r4' ? row('r4', 40) : one.id === 'r29' ? row('r29', -1) : one))
    const again = ids(order.update(changed, byLoad)).split(' ')
    expect([again[0], again[1], again.at(-1), again.length]).toEqual(['r29', 'r0', 'r4', 30])
  })

  it('puts rows that came back at the end while it is held', () => {
    const order = anOrder()
    const all = [row('a', 1), row('b', 2), row('c', 3)]
    order.update(all, byLoad)
    order.update([all[2]!], byLoad)
    expect(ids(order.update(all, byLoad, true))).toBe('c a b')
    expect(ids(order.update(all, byLoad))).toBe('a b c')
  })

  it('answers the same array while nothing changed', () => {
    const order = anOrder()
    const rows = [row('b'), row('a')]
    expect(order.update(rows, byName)).toBe(order.update(rows, byName))
  })

  it('moves nothing while it is held, and everything once it is not', () => {
    const order = anOrder()
    const rows = [row('a', 1), row('b', 2), row('c', 3)]
    order.update(rows, byLoad)
    const changed = [row('a', 9), rows[1]!, rows[2]!, row('d', 0)]
    expect(ids(order.update(changed, byLoad, true))).toBe('a b c d')
    expect(order.isLate).toBe(true)
    expect(ids(order.update([changed[0]!, changed[2]!, changed[3]!], byLoad, true))).toBe('a c d')
    expect(ids(order.update([changed[0]!, changed[2]!, changed[3]!], byLoad))).toBe('d c a')
    expect(order.isLate).toBe(false)
  })

  it('is the order a whole sort would give, after any history of changes', () => {
    const order = anOrder()
    let rows = Array.from({ length: 60 }, (_, i) => row(`r${i}`, (i * 37) % 50))
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515 + 12_345) % 2_147_483_648
      return seed % below
    }
    for (let step = 0; step < 300; step++) {
      const at = random(rows.length)
      if (step % 7 === 0) rows = [...rows.slice(0, at), ...rows.slice(at + 1)]
      else if (step % 5 === 0) rows = [...rows.slice(0, at), row(`n${step}`, random(50)), ...rows.slice(at)]
      else rows = rows.map((r, i) => (i === at ? row(r.id, random(50)) : r))
      if (step % 13 === 0)
        order.update(
          rows.filter((_, i) => i % 3 === step % 3),
          byLoad,
        )
      const shown = order.update(rows, byLoad, step % 11 === 0).map(({ row: r }) => r.load ?? -1)
      if (!order.isLate) expect(shown).toEqual(shown.slice().sort((a, b) => a - b))
      expect(shown).toHaveLength(rows.length)
    }
  })
})
