import { describe, expect, it } from 'vitest'
import { handleConsoleKey } from '../../../../../src/renderer/features/consoles/console-keys.ts'
import { needsGuard, visibleText } from '../../../../../src/renderer/features/consoles/paste-text.ts'

function press(key: string, code: string, held: ('ctrlKey' | 'shiftKey' | 'altKey' | 'metaKey')[] = []) {
  const done: string[] = []
  const flags = { ctrlKey: false, shiftKey: false, altKey: false, metaKey: false }
  for (const name of held) flags[name] = true
  const guest = handleConsoleKey(
    { type: 'keydown', key, code, ...flags, preventDefault: () => undefined },
    {
      leave: () => done.push('leave'),
      find: () => done.push('find'),
      copy: () => done.push('copy'),
      paste: () => done.push('paste'),
    },
  )
  return { guest, done }
}

describe('keys in a console', () => {
  it.each([
    ['Tab', 'Tab', []],
    ['Escape', 'Escape', []],
    ['k', 'KeyK', ['ctrlKey']],
    ['c', 'KeyC', ['ctrlKey']],
    ['f', 'KeyF', ['altKey']],
    ['F5', 'F5', []],
  ] as const)('%s goes to the guest', (key, code, held) => {
    expect(press(key, code, [...held])).toEqual({ guest: true, done: [] })
  })

  it('F6 leaves, so that nobody is caught; Ctrl+F6 is for the guest', () => {
    expect(press('F6', 'F6')).toEqual({ guest: false, done: ['leave'] })
    expect(press('F6', 'F6', ['ctrlKey'])).toEqual({ guest: true, done: [] })
  })

  it.each([
    ['F', 'KeyF', 'find'],
    ['C', 'KeyC', 'copy'],
    ['V', 'KeyV', 'paste'],
  ])('Ctrl+Shift+%s is ours', (key, code, act) => {
    expect(press(key, code, ['ctrlKey', 'shiftKey'])).toEqual({ guest: false, done: [act] })
  })

  it('a chord of ours that does nothing still does not reach the guest', () => {
    expect(press('Q', 'KeyQ', ['ctrlKey', 'shiftKey'])).toEqual({ guest: false, done: [] })
  })
})

describe('a paste', () => {
  it.each([
    ['ls -l', false],
    ['ls -l\n', false],
    ['a\tb', false],
    ['a\nb', true],
    ['a\r\nb', true],
    ['\x1b[201~rm', true],
    ['a\x03', true],
  ])('%j asks first: %s', (text, asks) => expect(needsGuard(text)).toBe(asks))

  it('is shown with its control characters visible', () => expect(visibleText('a\x1b[A\r\nb')).toBe('a␛[A\nb'))
})
