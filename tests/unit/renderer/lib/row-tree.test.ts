import { describe, expect, it } from 'vitest'
import { RowOrder } from '../../../../src/renderer/lib/row-order.ts'
import { parentIndex, treeLines } from '../../../../src/renderer/lib/row-tree.ts'

interface Row {
  id: string
  host?: string
}

const rows: Row[] = [
  { id: 'web', host: 'rack' },
  { id: 'rack' },
  { id: 'db', host: 'rack' },
  { id: 'lost', host: 'gone' },
]
const placed = new RowOrder<Row>((r) => r.id).update(rows, { id: 'id', desc: false, key: (r) => r.id })
const lines = (collapsed: string[] = []) => treeLines(placed, (r) => r.host, new Set(collapsed))
const words = (collapsed: string[] = []) =>
  lines(collapsed).map(({ id, level, expanded }) => `${level} ${id}${expanded === undefined ? '' : ` ${expanded}`}`)

describe('rows in a tree', () => {
  it('stand under their parent, siblings in order; those without one at the top', () => {
    expect(words()).toEqual(['1 lost', '1 rack true', '2 db', '2 web'])
  })

  it('are left out under a collapsed row', () => {
    expect(words(['rack'])).toEqual(['1 lost', '1 rack false'])
  })

  it('lead back to the row they are under', () => {
    expect(parentIndex(lines(), 3)).toBe(1)
    expect(parentIndex(lines(), 1)).toBeUndefined()
  })
})
