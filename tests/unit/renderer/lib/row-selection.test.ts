import { describe, expect, it } from 'vitest'
import { allToggled, chosenOf, ranged, selectionCount, toggled } from '../../../../src/renderer/lib/row-selection.ts'

const order = ['a', 'b', 'c', 'd']
const of = (...ids: string[]) => new Set(ids)

describe('a selection of rows', () => {
  it('gains and loses one row', () => {
    expect(toggled(of('a'), 'b')).toEqual(of('a', 'b'))
    expect(toggled(of('a', 'b'), 'b')).toEqual(of('a'))
  })

  it.each([
    ['downwards', 'a', 'c', of('a'), of('a', 'b', 'c')],
    ['upwards', 'd', 'b', of('d'), of('b', 'c', 'd')],
    ['off again, where the row chosen last is off', 'a', 'b', of('b', 'c'), of('c')],
    ['as one row, where the row chosen last is not shown any more', 'z', 'b', of('z'), of('z', 'b')],
  ])('takes a range %s', (_, last, to, selected, expected) => {
    expect(ranged(selected, order, last, to)).toEqual(expected)
  })

  it('of a row that stands for others is theirs', () => {
    expect([of(), of('a'), of('a', 'b')].map((ids) => chosenOf(ids, ['a', 'b']))).toEqual(['no', 'some', 'yes'])
    expect(allToggled(of('a', 'z'), ['a', 'b'])).toEqual(of('a', 'b', 'z'))
    expect(allToggled(of('a', 'b', 'z'), ['a', 'b'])).toEqual(of('z'))
  })

  it('counts what the filter hides and what is left to choose', () => {
    expect(selectionCount(of('a', 'z'), ['a', 'b'])).toEqual({ chosen: 1, hidden: 1, left: 1 })
  })
})
