import { Unreadable } from './finding.ts'
import { BREAKS, type Cursor } from './yaml-cursor.ts'

const ESCAPES: Record<string, string> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '\\': '\\',
  '/': '/',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
}
const ESCAPE_DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 }

/** Text in quotes; its lines may begin anywhere. Raises Unreadable at the opening quote when it has no end. */
export function readQuoted(c: Cursor): string {
  const start = c.at
  const quote = c.peek()
  let text = ''
  c.skip()
  for (;;) {
    text += quote === '"' ? doubleQuoted(c, start) : singleQuoted(c)
    if (c.peek() === quote) break
    text += quotedSpaces(c, start)
  }
  c.skip()
  return text
}

function run(c: Cursor, stop: string): string {
  let length = 0
  while (!(stop.includes(c.peek(length)) || c.isBlank(length))) length++
  const text = c.prefix(length)
  c.skip(length)
  return text
}

function singleQuoted(c: Cursor): string {
  let text = ''
  for (;;) {
    text += run(c, "'")
    if (c.peek() !== "'" || c.peek(1) !== "'") return text
    text += "'"
    c.skip(2)
  }
}

function doubleQuoted(c: Cursor, start: number): string {
  let text = ''
  for (;;) {
    text += run(c, '"\\')
    if (c.peek() !== '\\') return text
    c.skip()
    const letter = c.peek()
    const digits = ESCAPE_DIGITS[letter]
    if (ESCAPES[letter] !== undefined && !c.isEnd()) {
      text += ESCAPES[letter]
      c.skip()
    } else if (digits !== undefined) {
      c.skip()
      text += hexadecimal(c, digits)
    } else if (!c.isEnd() && c.isLineEnd()) {
      c.lineBreak()
      text += quotedBreaks(c, start)
    } else throw unknownEscape(c.at - 1)
  }
}

const unknownEscape = (at: number) =>
  new Unreadable(
    at,
    'escape',
    'a backslash in double quotes stands before something it means nothing with',
    'Write the backslash twice, or use single quotes.',
    [{ start: at, end: at, text: '\\' }],
  )

function hexadecimal(c: Cursor, digits: number): string {
  const hex = c.prefix(digits)
  const code = Number.parseInt(hex, 16)
  if (hex.length < digits || !/^[0-9A-Fa-f]+$/.test(hex) || code > 0x10ffff) throw unknownEscape(c.at - 2)
  c.skip(digits)
  return String.fromCodePoint(code)
}

const unclosed = (start: number) =>
  new Unreadable(
    start,
    'quote',
    'this quote is never closed',
    'Close it, or write the quote twice inside its own kind.',
  )

function quotedSpaces(c: Cursor, start: number): string {
  let spaces = ''
  while (c.peek() === ' ' || c.peek() === '\t') {
    spaces += c.peek()
    c.skip()
  }
  if (c.isEnd()) throw unclosed(start)
  if (!c.isLineEnd()) return spaces
  const broken = c.lineBreak()
  const breaks = quotedBreaks(c, start)
  if (broken !== '\n') return broken + breaks
  return breaks === '' ? ' ' : breaks
}

function quotedBreaks(c: Cursor, start: number): string {
  let breaks = ''
  for (;;) {
    if (c.isDocumentMark()) throw unclosed(start)
    while (c.peek() === ' ' || c.peek() === '\t') c.skip()
    if (c.isEnd() || !c.isLineEnd()) return breaks
    breaks += c.lineBreak()
  }
}

/** A `|` or `>` block under a parent at `indent`. */
export function readBlock(c: Cursor, indent: number): string {
  const folded = c.peek() === '>'
  c.skip()
  const { keep, increment } = blockHeader(c)
  const least = Math.max(1, indent + 1)
  let column: number
  let breaks: string
  if (increment === 0) {
    const found = blockIndent(c)
    column = Math.max(least, found.deepest)
    breaks = found.breaks
  } else {
    column = least + increment - 1
    breaks = blockBreaks(c, column)
  }
  let text = ''
  let last = ''
  while (c.column === column && !c.isEnd()) {
    text += breaks
    const plain = !' \t'.includes(c.peek())
    let length = 0
    while (c.at + length < c.text.length && !BREAKS.includes(c.peek(length))) length++
    text += c.prefix(length)
    c.skip(length)
    last = c.lineBreak()
    breaks = blockBreaks(c, column)
    if (c.column !== column || c.isEnd()) break
    if (!(folded && last === '\n' && plain && !' \t'.includes(c.peek()))) text += last
    else if (breaks === '') text += ' '
  }
  if (keep !== false) text += last
  return keep === true ? text + breaks : text
}

/** Whether line breaks at the end are kept (undefined = one), and how deep it is said to be; 0 = as its first line. */
function blockHeader(c: Cursor): { keep: boolean | undefined; increment: number } {
  const [, before, d1, d2, after] = /^(?:([-+])(\d?)|(\d)([-+]?))/.exec(c.prefix(2)) ?? []
  const sign = before ?? after ?? ''
  const digit = d1 ?? d2 ?? ''
  c.skip(sign.length + digit.length)
  const bad = () =>
    c.refuse(
      'text stands behind the | or > of a block',
      'Begin the block in the next line, indented.',
      undefined,
      'block',
    )
  if (digit === '0' || !(c.peek() === ' ' || c.isLineEnd())) throw bad()
  c.skipSpaces()
  if (c.peek() === '#') while (!c.isLineEnd()) c.skip()
  if (!c.isLineEnd()) throw bad()
  c.lineBreak()
  return { keep: sign === '' ? undefined : sign === '+', increment: Number(digit) }
}

function blockIndent(c: Cursor): { breaks: string; deepest: number } {
  let breaks = ''
  let deepest = 0
  while (!c.isEnd() && (c.peek() === ' ' || c.isLineEnd())) {
    if (c.peek() !== ' ') breaks += c.lineBreak()
    else {
      c.skip()
      deepest = Math.max(deepest, c.column)
    }
  }
  return { breaks, deepest }
}

function blockBreaks(c: Cursor, column: number): string {
  let breaks = ''
  for (;;) {
    while (c.column < column && c.peek() === ' ') c.skip()
    if (c.isEnd() || !c.isLineEnd()) return breaks
    breaks += c.lineBreak()
  }
}

export interface PlainText {
  text: string
  end: number
  /** It ended in front of a line, where a key may begin. */
  atLineStart: boolean
}

/** Text without quotes: to the next `: ` or ` #`, and over lines that are indented at least to `indent`. */
export function readPlain(c: Cursor, indent: number, flow: boolean): PlainText {
  let text = ''
  let spaces = ''
  let end = c.at
  let atLineStart = false
  for (;;) {
    if (c.peek() === '#') break
    const length = plainLength(c, flow)
    if (length === 0) break
    atLineStart = false
    text += spaces + c.prefix(length)
    c.skip(length)
    end = c.at
    const gap = plainSpaces(c)
    atLineStart = gap.broke
    if (gap.spaces === '' || c.peek() === '#' || (!flow && c.column < indent)) break
    spaces = gap.spaces
  }
  return { text, end, atLineStart }
}

function plainLength(c: Cursor, flow: boolean): number {
  for (let length = 0; ; length++) {
    const ch = c.peek(length)
    if (c.isBlank(length)) return length
    if (ch === ':' && (c.isBlank(length + 1) || (flow && ',[]{}'.includes(c.peek(length + 1))))) return length
    if (flow && ',?[]{}'.includes(ch)) return length
  }
}

function plainSpaces(c: Cursor): { spaces: string; broke: boolean } {
  let spaces = ''
  while (c.peek() === ' ') {
    spaces += ' '
    c.skip()
  }
  if (c.isEnd() || !c.isLineEnd()) return { spaces, broke: false }
  const broken = c.lineBreak()
  if (c.isDocumentMark()) return { spaces: '', broke: true }
  let breaks = ''
  while (!c.isEnd() && (c.peek() === ' ' || c.isLineEnd())) {
    if (c.peek() === ' ') c.skip()
    else {
      breaks += c.lineBreak()
      if (c.isDocumentMark()) return { spaces: '', broke: true }
    }
  }
  if (broken !== '\n') return { spaces: broken + breaks, broke: true }
  return { spaces: breaks === '' ? ' ' : breaks, broke: true }
}
