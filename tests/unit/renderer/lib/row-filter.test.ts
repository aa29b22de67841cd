import { describe, expect, it } from 'vitest'
import { parseFilter } from '../../../../src/renderer/lib/filter.ts'
import { RowFilter } from '../../../../src/renderer/lib/row-filter.ts'

interface Row {
  name: string
  state: string
}

function aFilter() {
  const looked: string[] = []
  const filter = new RowFilter<Row>((row) => {
    looked.push(row.name)
    return { name: row.name, state: row.state }
  })
  return { filter, looked }
}
const terms = (text: string) => parseFilter(text, ['name', 'state'])
const rows = [
  { name: 'web-1', state: 'Running' },
  { name: 'web-2', state: 'Stopped' },
  { name: 'db-1', state: 'Running' },
]

describe('filtered rows', () => {
  it('are all rows, the very same array, without a filter', () => {
    expect(aFilter().filter.update(rows, terms(''), 0)).toBe(rows)
  })

  it('look only at a row that changed', () => {
    const { filter, looked } = aFilter()
    const running = terms('state:running')
    filter.update(rows, running, 0)
    looked.length = 0
    const newer = [rows[0]!, { name: 'web-2', state: 'Running' }, rows[2]!]
    expect(filter.update(newer, running, 0).map(({ name }) => name)).toEqual(['web-1', 'web-2', 'db-1'])
    expect(looked).toEqual(['web-2'])
  })

  it('are the same array while only rows that are hidden change', () => {
    const { filter } = aFilter()
    const running = terms('state:running')
    const before = filter.update(rows, running, 0)
    expect(filter.update([rows[0]!, { ...rows[1]! }, rows[2]!], running, 0)).toBe(before)
  })

  it('make no record again for another filter', () => {
    const { filter, looked } = aFilter()
    filter.update(rows, terms('web'), 0)
    looked.length = 0
    expect(filter.update(rows, terms('db'), 0)).toEqual([rows[2]])
    expect(looked).toEqual([])
  })

  it.each([
    ['a letter more', 'w', 'we', ['web-1', 'web-2']],
    ['a word more', 'web', 'web state:stopped', ['web-2']],
    ['a word that is turned round', 'web', 'web -state:stopped', ['web-1']],
    ['a letter less', 'web-1', 'web-', ['web-1', 'web-2']],
    ['a letter more of what is left out', '-name:web', '-name:web-1', ['web-2', 'db-1']],
    ['a field in place of a word', 'state', 'state:', ['web-1', 'web-2', 'db-1']],
    ['another word first', 'web', 'db web', []],
  ])('are those of the whole text after %s', (_what, before, after, expected) => {
    const { filter } = aFilter()
    filter.update(rows, terms(before), 0)
    expect(filter.update(rows, terms(after), 0).map(({ name }) => name)).toEqual(expected)
  })

  it('find a row that came to match while what it did not match grew longer', () => {
    const { filter } = aFilter()
    filter.update(rows, terms('state:stop'), 0)
    const newer = [{ name: 'web-1', state: 'Stopped' }, rows[1]!, rows[2]!]
    expect(filter.update(newer, terms('state:stopp'), 0).map(({ name }) => name)).toEqual(['web-1', 'web-2'])
  })

  it('are looked at anew in another minute', () => {
    const { filter, looked } = aFilter()
    const web = terms('web')
    filter.update(rows, web, 0)
    filter.update(rows, web, 60_000)
    expect(looked).toHaveLength(6)
  })

  it('follow rows that come and go', () => {
    const { filter } = aFilter()
    const web = terms('web')
    filter.update(rows, web, 0)
    const fewer = [rows[2]!, { name: 'web-3', state: 'Running' }]
    expect(filter.update(fewer, web, 0)).toEqual([fewer[1]])
    expect(filter.update([], web, 0)).toEqual([])
  })

  it('find no word across two columns', () => {
    const { filter } = aFilter()
    expect(filter.update(rows, terms('"web-1running"'), 0)).toEqual([])
  })
})
