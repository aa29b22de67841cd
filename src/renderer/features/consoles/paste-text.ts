import { LIMITS } from '../../../ipc/units.ts'

/** Characters of a paste that are shown before it is typed; a longer one is asked about whatever it is. */
export const MAX_PREVIEW = 4000

// Control characters but tab, those of eight bits, and those that hide or turn text around; the joiner of emoji is none.
const UNSEEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/

/** Text that could do more than fill in one line: several lines, much of it, or characters that are not seen. */
export function needsGuard(text: string): boolean {
  return text.length > MAX_PREVIEW || /[\r\n]/.test(text.replace(/\r?\n$/, '')) || UNSEEN.test(text)
}

/** Of a text that may not be whole when it arrives, as nothing holds so much for a guest: its bytes. */
export function tooLongToPaste(text: string): number | undefined {
  const bytes = new TextEncoder().encode(text).length
  return bytes > LIMITS.consolePasteBytes ? bytes : undefined
}

/** The text with characters made visible that are not, for the preview. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\x7f/g, '\u2421')
    .replace(new RegExp(UNSEEN, 'g'), (c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`)
}
