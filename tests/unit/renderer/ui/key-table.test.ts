import { describe, expect, it } from 'vitest'
import { holderOf, isRemappable, KEY_TABLE, keyOf, keyText, shippedKey } from '../../../../src/renderer/ui/key-table.ts'

const rows = KEY_TABLE.flatMap((group) => group.rows)
const row = (id: string) => rows.find((r) => r.id === id)!

describe('the keys of the window', () => {
  it('have one name each, and no two acts outside a console share a key', () => {
    expect(new Set(rows.map((r) => r.id)).size).toBe(rows.length)
    const outside = rows.filter((r) => !r.id.startsWith('console-'))
    expect(new Set(outside.map((r) => r.key)).size).toBe(outside.length)
  })

  it('can be remapped where they are plain letters or signs', () => {
    expect(['create-vm', 'go-hosts', 'keys'].map((id) => isRemappable(row(id)))).toEqual([true, true, true])
    expect(['palette', 'back', 'details', 'tabs'].map((id) => isRemappable(row(id)))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })

  it('act by what was pressed: a moved act answers to its new key and no longer to the old', () => {
    const own = { console: 't' }
    expect(shippedKey('t', own)).toBe('c')
    expect(shippedKey('c', own)).toBeUndefined()
    expect(shippedKey('n', own)).toBe('n')
    expect(keyOf('console', own)).toBe('t')
  })

  it('ignore what was stored for an act that is no more', () => {
    expect(shippedKey('q', { gone: 'q' })).toBe('q')
  })

  it('are not given twice', () => {
    expect(holderOf('n', 'console', {})?.id).toBe('create-vm')
    expect(holderOf('c', 'console', {})).toBeUndefined()
    expect(holderOf('n', 'console', { 'create-vm': 'v' })).toBeUndefined()
    expect(holderOf('g', 'console', {})?.id, 'the first of two keys in a row').toBe('go-fleet')
  })

  it('are written as they stand on the keyboard', () => {
    expect(['f6', 'shift+f8', 'g f'].map((key) => keyText(key))).toEqual(['F6', 'Shift F8', 'g f'])
  })

  it('are those of the system one is on, never of both', () => {
    expect(['mod+k', 'chord+f', 'alt'].map((key) => keyText(key, false))).toEqual(['Ctrl K', 'Ctrl Shift F', 'Alt'])
    expect(['mod+k', 'chord+f', 'alt'].map((key) => keyText(key, true))).toEqual(['⌘ K', '⌘ F', '⌥'])
  })
})
