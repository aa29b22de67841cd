import { describe, expect, it } from 'vitest'
import { RowList } from '../../../../src/renderer/state/row-list.ts'

interface Row {
  id: string
  n: number
}
const row = (id: string, n = 0): Row => ({ id, n })
const of = (...ids: string[]) => new RowList(ids.map((id) => row(id)))
const ids = (list: RowList<Row>) => [...list.values()].map(({ id }) => id)
const changes = (...list: [string, Row | undefined][]) => new Map(list)

describe('a list of rows by id', () => {
  it('changes a row in its place and leaves the list it came from as it was', () => {
    const before = of('a', 'b', 'c')
    const after = before.with(changes(['b', row('b', 7)]))
    expect([ids(after), after.get('b')?.n, before.get('b')?.n]).toEqual([['a', 'b', 'c'], 7, 0])
  })

  it('puts new rows at the end, which the list it came from does not know', () => {
    const before = of('a')
    const after = before.with(changes(['b', row('b')], ['c', row('c')]))
    expect([ids(after), after.size, after.has('c')]).toEqual([['a', 'b', 'c'], 3, true])
    expect([ids(before), before.has('b'), before.get('c')]).toEqual([['a'], false, undefined])
  })

  it('takes rows out and knows where the others stand then', () => {
    const after = of('a', 'b', 'c').with(changes(['a', undefined], ['x', undefined], ['d', row('d')]))
    expect([ids(after), after.get('c')?.id, after.has('a')]).toEqual([['b', 'c', 'd'], 'c', false])
  })

  it('keeps two lists apart that were made from the same one', () => {
    const before = of('a')
    const one = before.with(changes(['b', row('b', 1)]))
    const other = before.with(changes(['c', row('c', 2)]))
    expect([ids(one), one.get('b')?.n, one.has('c')]).toEqual([['a', 'b'], 1, false])
    expect([ids(other), other.get('c')?.n, other.has('b')]).toEqual([['a', 'c'], 2, false])
  })

  it('does not let an older list see a row that came in after it, however often it is changed', () => {
    const before = of('a')
    const later = before.with(changes(['b', row('b')])).with(changes(['a', undefined]))
    const again = before.with(changes(['a', row('a', 3)]))
    expect([ids(later), ids(again), again.has('b'), again.get('a')?.n]).toEqual([['b'], ['a'], false, 3])
  })

  it('is told apart by nothing but its rows after a thousand random changes', () => {
    let seed = 42
    const next = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed % below
    }
    let list = new RowList<Row>()
    const known = new Map<string, Row>()
    for (let n = 0; n < 1000; n++) {
      const id = `r${next(40)}`
      const changed = next(4) === 0 ? undefined : row(id, n)
      list = list.with(changes([id, changed]))
      if (changed) known.set(id, changed)
      else known.delete(id)
      expect([...list.values()].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
        [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
      )
      expect(list.get(id)).toBe(changed)
    }
  })
})
