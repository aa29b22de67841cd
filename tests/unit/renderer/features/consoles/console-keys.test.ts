import { describe, expect, it } from 'vitest'
import { chordName, handleConsoleKey } from '../../../../../src/renderer/features/consoles/console-keys.ts'
import { needsGuard, visibleText } from '../../../../../src/renderer/features/consoles/paste-text.ts'

type Held = 'ctrlKey' | 'shiftKey' | 'altKey' | 'metaKey'

function press(key: string, code: string, held: Held[] = [], { alone = false, tabLeaves = false } = {}) {
  const done: string[] = []
  const does = (what: string) => () => done.push(what)
  const flags = { ctrlKey: false, shiftKey: false, altKey: false, metaKey: false }
  for (const name of held) flags[name] = true
  const guest = handleConsoleKey(
    { type: 'keydown', key, code, ...flags, preventDefault: () => undefined },
    {
      leave: does('leave'),
      find: does('find'),
      copy: does('copy'),
      paste: does('paste'),
      reconnect: does('reconnect'),
      actions: does('actions'),
      toggleTab: does('toggleTab'),
      tabLeaves,
      ...(alone
        ? {}
        : {
            newTab: does('newTab'),
            splitRight: does('splitRight'),
            splitDown: does('splitDown'),
            closeView: does('closeView'),
            move: (to: string) => done.push(`move ${to}`),
          }),
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
    ['R', 'KeyR', 'reconnect'],
    ['P', 'KeyP', 'actions'],
    ['M', 'KeyM', 'toggleTab'],
    ['T', 'KeyT', 'newTab'],
    ['|', 'Backslash', 'splitRight'],
    ['_', 'Minus', 'splitDown'],
    ['W', 'KeyW', 'closeView'],
    ['ArrowLeft', 'ArrowLeft', 'move left'],
    ['ArrowDown', 'ArrowDown', 'move down'],
  ])('Ctrl+Shift+%s is ours', (key, code, act) => {
    expect(press(key, code, ['ctrlKey', 'shiftKey'])).toEqual({ guest: false, done: [act] })
  })

  it('⌘ is as good as Ctrl+Shift', () => {
    expect(press('f', 'KeyF', ['metaKey'])).toEqual({ guest: false, done: ['find'] })
  })

  it('a console that stands alone has no tabs, splits or other panes', () => {
    for (const code of ['KeyT', 'Backslash', 'Minus', 'KeyW', 'ArrowUp'])
      expect(press('x', code, ['ctrlKey', 'shiftKey'], { alone: true })).toEqual({ guest: false, done: [] })
  })

  it('Tab goes to the page once a person said so, and back too', () => {
    expect(press('Tab', 'Tab', [], { tabLeaves: true }).guest).toBe(false)
    expect(press('Tab', 'Tab', ['shiftKey'], { tabLeaves: true }).guest).toBe(false)
    expect(press('Tab', 'Tab', ['shiftKey']).guest).toBe(true)
  })

  it('chords are shown as the keyboard has them', () => {
    expect(chordName('F')).toBe('Ctrl Shift F')
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
