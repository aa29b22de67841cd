import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../../../src/ipc/units.ts'
import { ConsoleOutbox } from '../../../../../src/main/control/consoles/outbox.ts'
import { needsGuard, tooLongToPaste, visibleText } from '../../../../../src/renderer/features/consoles/paste-text.ts'

describe('a text that is pasted into a console', () => {
  it('is typed at once where it fills in one line, emoji and other scripts too', () => {
    for (const text of ['ls -l\n', 'a\tb', 'Ωμέγα', 'שלום', '👩‍🚀']) expect(needsGuard(text)).toBe(false)
  })

  it('is asked about where it has several lines, much text, or characters nobody sees', () => {
    for (const text of ['a\nb', 'a\rb', '\x1b[A', '\x7f', 'rm \u202efdp', 'a\u200bb', '\x9b2J', 'x'.repeat(4001)])
      expect(needsGuard(text)).toBe(true)
  })

  it('is shown with each of them in sight', () => {
    expect(visibleText('a\r\nb\x1b\x7f\u202e\x9bc\t👩‍🚀')).toBe('a\nb␛␡<U+202E><U+009B>c\t👩‍🚀')
  })

  it('is refused whole where it might arrive with holes', () => {
    const most = 'x'.repeat(LIMITS.consolePasteBytes)
    expect([tooLongToPaste(most), tooLongToPaste(`${most}x`)]).toEqual([undefined, LIMITS.consolePasteBytes + 1])
    expect(tooLongToPaste('€'.repeat(LIMITS.consolePasteBytes / 2))).toBe(LIMITS.consolePasteBytes * 1.5)
  })

  it('of the most that is taken is held whole for a guest that reads nothing, behind what it was typed before', () => {
    const outbox = new ConsoleOutbox({}, () => {})
    const piece = new Uint8Array(LIMITS.consoleInputBytes)
    const taken = Array.from({ length: LIMITS.consolePasteBytes / piece.length }, () => outbox.input(piece))
    expect([outbox.input(new Uint8Array(100)), ...taken]).not.toContain(false)
  })
})
