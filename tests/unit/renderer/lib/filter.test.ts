import { describe, expect, it } from 'vitest'
import { matchesFilter, parseFilter } from '../../../../src/renderer/lib/filter.ts'

const FIELDS = ['name', 'state', 'host', 'ip', 'label']
const row = { name: 'web-12', state: 'Running', host: 'rack2-07', ip: '10.20.0.12', label: 'app=shop prod' }
const matches = (filter: string) => matchesFilter(row, parseFilter(filter, FIELDS))

describe('a filter', () => {
  it.each([
    ['', true, 'is empty'],
    ['web', true, 'a bare word stands in any column'],
    ['RACK2', true, 'case does not matter'],
    ['db', false, 'a bare word stands nowhere'],
    ['web rack2', true, 'all words stand somewhere'],
    ['web edge', false, 'one of the words stands nowhere'],
    ['host:rack2', true, 'the field has it'],
    ['name:rack2', false, 'another field has it'],
    ['STATE:running', true, 'a field name in capitals is the field'],
    ['-web', false, 'a term with a minus stands there'],
    ['-db', true, 'a term with a minus stands nowhere'],
    ['-state:stopped', true, 'a field with a minus has something else'],
    ['-state:running', false, 'a field with a minus has it'],
    ['label:"app=shop prod"', true, 'quotes keep words together'],
    ['state:', true, 'a field without a value yet holds for all'],
    ['host:', true, 'a field being typed hides nothing'],
    ['-', true, 'a lone minus is plain text'],
  ])('"%s" → %s because %s', (filter, expected) => {
    expect(matches(filter)).toBe(expected)
  })

  it('takes a colon after an unknown field as plain text, so that addresses can be typed', () => {
    expect(parseFilter('fe80::1', FIELDS)).toEqual([{ field: undefined, text: 'fe80::1', not: false }])
  })
})
