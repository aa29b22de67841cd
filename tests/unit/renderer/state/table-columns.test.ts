import { describe, expect, it } from 'vitest'
import { movedColumn, readColumns, shownColumns } from '../../../../src/renderer/state/table-columns.ts'

const columns = [{ id: 'name', fixed: true }, { id: 'host' }, { id: 'ip' }, { id: 'cpu' }, { id: 'acts', fixed: true }]
const shown = (choice: { hidden: string[]; order: string[] }) => shownColumns(columns, choice).map(({ id }) => id)

describe('columns of a table', () => {
  it('come as the table has them', () => {
    expect(shown({ hidden: [], order: [] })).toEqual(['name', 'host', 'ip', 'cpu', 'acts'])
  })

  it('stand as they were put, but for the fixed ones', () => {
    expect(shown({ hidden: ['ip', 'name'], order: ['cpu', 'ip', 'host'] })).toEqual(['name', 'cpu', 'host', 'acts'])
  })

  it('move one place, and not beyond the last', () => {
    const start = { hidden: [], order: [] }
    expect(movedColumn(columns, start, 'ip', -1).order).toEqual(['ip', 'host', 'cpu'])
    expect(movedColumn(columns, start, 'cpu', 1)).toBe(start)
    expect(movedColumn(columns, start, 'name', 1)).toBe(start)
  })

  it('keep one the choice does not know where the table has it', () => {
    expect(shown({ hidden: [], order: ['host', 'cpu'] })).toContain('ip')
  })
})

describe('columns kept before', () => {
  it('are read as they were chosen', () => {
    const chosen = { vms: { hidden: ['ip'], order: ['cpu', 'host'] } }
    expect(readColumns(JSON.stringify(chosen))).toEqual(chosen)
    expect(readColumns(null)).toEqual({})
  })

  it.each(['{', 'null', '7', '"vms"', '[1]'])('are as the table comes where %s was kept', (stored) => {
    expect(shownColumns(columns, readColumns(stored)['vms'] ?? { hidden: [], order: [] })).toEqual(columns)
  })

  it.each([null, 5, 'all', {}, { hidden: 'ip', order: { 0: 'cpu' } }, { hidden: [null, 3], order: [[]] }])(
    'are as the table comes where its choice is %j',
    (choice) => {
      expect(readColumns(JSON.stringify({ vms: choice }))['vms']).toEqual({ hidden: [], order: [] })
    },
  )
})
