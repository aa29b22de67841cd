import { describe, expect, it } from 'vitest'
import { matchesFilter, parseFilter } from '../../../../src/renderer/lib/filter.ts'
import { accepted, countValues, suggestionsFor } from '../../../../src/renderer/lib/filter-suggest.ts'

const FIELDS = ['state', 'name', 'host', 'label']
const VALUES: Record<string, { value: string; count: number }[]> = {
  state: [
    { value: 'Running', count: 40 },
    { value: 'Needs a decision', count: 3 },
    { value: 'Stopped', count: 2 },
  ],
  host: [{ value: 'rack2-07', count: 9 }],
}
const at = (text: string, caret = text.length) => suggestionsFor(text, caret, FIELDS, (field) => VALUES[field] ?? [])
const inserts = (text: string) => at(text).items.map((i) => i.insert)

describe('what a filter may become', () => {
  it('is a field while a bare word could be one, also turned round', () => {
    expect(inserts('')).toEqual(['state:', 'name:', 'host:', 'label:'])
    expect(inserts('web s')).toEqual(['state:'])
    expect(inserts('-ho')).toEqual(['-host:'])
    expect(inserts('10.20')).toEqual([])
  })

  it('is a value of the field that was named: what starts so before what holds it, the frequent first', () => {
    expect(inserts('state:')).toEqual(['state:Running', 'state:"Needs a decision"', 'state:Stopped'])
    expect(inserts('state:s')).toEqual(['state:Stopped', 'state:"Needs a decision"'])
    expect(at('state:s').firstIsMeant).toBe(true)
  })

  it('is nothing once the value is whole, nor for a field that is none', () => {
    expect(inserts('host:rack2-07')).toEqual([])
    expect(inserts('fe80::1')).toEqual([])
  })

  it('is about the word at the caret, and leaves the others', () => {
    const text = 'sta web'
    const suggestions = at(text, 3)
    expect(accepted(text, suggestions, suggestions.items[0]!)).toEqual({ text: 'state:web', caret: 6 })
    const quoted = at('state:"needs a')
    expect(accepted('state:"needs a', quoted, quoted.items[0]!).text).toBe('state:"Needs a decision" ')
  })

  it('counts the values of a column', () => {
    expect(countValues(['a', 'b', 'b', ''])).toEqual([
      { value: 'b', count: 2 },
      { value: 'a', count: 1 },
    ])
  })

  it.each(['a"b', 'he said "hi"', '"x"', '"x y"', 'a:b', '-x', '- x', '👩‍🚀', 'שלום עולם', 'ÄÖ İ', 'x=\u202eevil'])(
    'of a value as it is offered finds the rows that have it: %s',
    (value) => {
      const offered = suggestionsFor('label:', 6, FIELDS, () => [{ value }])
      const { text } = accepted('label:', offered, offered.items[0]!)
      expect(matchesFilter({ name: 'web', label: value }, parseFilter(text, FIELDS))).toBe(true)
    },
  )
})
