import { describe, expect, it } from 'vitest'
import { type PaletteEntry, paletteIndex, paletteResults } from '../../../../src/renderer/lib/palette-rank.ts'

const entry = (kind: PaletteEntry['kind'], text: string): PaletteEntry => ({
  id: `${kind}${text}`,
  kind,
  text,
  hint: '',
})
const index = paletteIndex([
  entry('>', 'Create VM'),
  entry(':', 'Terminal'),
  entry('@', 'my-web'),
  entry('@', 'web-12'),
  entry('@', 'web'),
  entry('@', 'wide-ebb'),
  entry('#', 'web-rack'),
  entry('image', 'debian-12'),
])
const texts = (query: string) => paletteResults(index, query).map((e) => e.text)

describe('the palette', () => {
  it('puts exact before prefix before the start of a word before letters in order', () => {
    expect(texts('web')).toEqual(['web', 'web-12', 'web-rack', 'my-web', 'wide-ebb'])
  })

  it('answers the same for the same text, whatever its case', () => {
    expect(texts('we')).toEqual(texts('we'))
    expect(texts('CREATE')).toEqual(['Create VM'])
  })

  it('keeps one kind after its sign', () => {
    expect(texts('#web')).toEqual(['web-rack'])
    expect(texts('>')).toEqual(['Create VM'])
    expect(texts(':')).toEqual(['Terminal'])
  })

  it('shows everything in the order given while nothing is typed', () => {
    expect(texts('')).toHaveLength(8)
    expect(texts('')[0]).toBe('Create VM')
  })

  it('finds the start of a word further on, and a setting by its other words', () => {
    const named = paletteIndex([
      entry('@', 'xweb-web'),
      entry('@', 'xweb'),
      { ...entry(':', 'Theme'), words: 'dark light colour' },
    ])
    expect(paletteResults(named, 'web').map((e) => e.text)).toEqual(['xweb-web', 'xweb'])
    expect(paletteResults(named, 'colo').map((e) => e.text)).toEqual(['Theme'])
    expect(paletteResults(named, 'olour')).toEqual([])
  })

  it('finds nothing when the letters are not there in order', () => {
    expect(texts('bewx')).toEqual([])
  })

  it('shows a bounded number of ten thousand, the best of them first', () => {
    const many = paletteIndex(Array.from({ length: 10_000 }, (_, i) => entry('@', `vm-${i}`)))
    const found = paletteResults(many, '9999')
    expect(found[0]?.text).toBe('vm-9999')
    expect(paletteResults(many, 'vm')).toHaveLength(24)
  })
})
