import { describe, expect, it } from 'vitest'
import { typedText } from '../../../../src/renderer/ui/typed-text.ts'

describe('what was typed into a sheet', () => {
  it('is copied as lines of label and value, empty fields left out', () => {
    const fields = [
      { label: 'Name', value: 'web', type: 'text' },
      { label: 'Labels', value: ' ', type: 'text' },
      { label: '', value: 'a\nb', type: 'textarea' },
    ]
    expect(typedText(fields)).toBe('Name: web\na\nb')
  })

  it('never holds a secret', () => {
    expect(typedText([{ label: 'Password', value: 'marked', type: 'password' }])).toBe('')
  })
})
