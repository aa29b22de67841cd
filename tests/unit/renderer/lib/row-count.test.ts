import { describe, expect, it } from 'vitest'
import { RowCount } from '../../../../src/renderer/lib/row-count.ts'

describe('a count of rows', () => {
  it('asks again only for rows that changed, and follows rows that go', () => {
    const asked: number[] = []
    const count = new RowCount<{ n: number }>(({ n }) => {
      asked.push(n)
      return n > 1
    })
    const rows = [{ n: 1 }, { n: 2 }, { n: 3 }]
    expect(count.update(rows)).toBe(2)
    asked.length = 0
    expect(count.update([{ n: 4 }, rows[1]!, rows[2]!])).toBe(3)
    expect(asked).toEqual([4])
    expect(count.update([rows[1]!])).toBe(1)
    expect(count.update([])).toBe(0)
  })
})
