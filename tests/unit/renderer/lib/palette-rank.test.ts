import { describe, expect, it } from 'vitest'
import { type PaletteEntry, paletteResults, rankOf } from '../../../../src/renderer/lib/palette-rank.ts'

const entry = (kind: PaletteEntry['kind'], text: string): PaletteEntry => ({
  id: `${kind}${text}`,
  kind,
  text,
  hint: '',
})
const entries = [
  entry('>', 'Create VM'),
  entry('@', 'my-web'),
  entry('@', 'web-12'),
  entry('@', 'web'),
  entry('@', 'wide-ebb'),
  entry('#', 'web-rack'),
]
const texts = (query: string) => paletteResults(entries, query).map((e) => e.text)

describe('the palette', () => {
  it('puts exact before prefix before the start of a word before letters in order', () => {
    expect(texts('web')).toEqual(['web', 'web-12', 'web-rack', 'my-web', 'wide-ebb'])
  })

  it('answers the same for the same text', () => {
    expect(texts('we')).toEqual(texts('we'))
  })

  it('keeps one kind after its sign', () => {
    expect(texts('#web')).toEqual(['web-rack'])
    expect(texts('>')).toEqual(['Create VM'])
  })

  it('finds nothing when the letters are not there in order', () => {
    expect(rankOf('web', 'bew')).toBeUndefined()
  })
})
