import { Unreadable } from './finding.ts'

export const BREAKS = '\r\n\x85\u2028\u2029'
export const BLANKS = `\0 \t${BREAKS}`
export const END = '\0'

/** A place in a text, read character by character; NUL stands for its end. */
export class Cursor {
  readonly text: string
  at: number
  line = 0
  column = 0

  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  peek(ahead = 0): string {
    return this.text[this.at + ahead] ?? END
  }

  prefix(length: number): string {
    return this.text.slice(this.at, this.at + length)
  }

  /** Past characters of one line. */
  skip(count = 1): void {
    this.at += count
    this.column += count
  }

  skipSpaces(): void {
    while (this.peek() === ' ') this.skip()
  }

  /** Past one line break; the text it counts as, empty where there is none. */
  lineBreak(): string {
    const c = this.peek()
    if (c === END || !BREAKS.includes(c)) return ''
    this.at += c === '\r' && this.peek(1) === '\n' ? 2 : 1
    this.line++
    this.column = 0
    return c === '\u2028' || c === '\u2029' ? c : '\n'
  }

  isEnd(): boolean {
    return this.at >= this.text.length
  }

  isLineEnd(): boolean {
    return this.isEnd() || BREAKS.includes(this.peek())
  }

  isBlank(ahead = 0): boolean {
    return BLANKS.includes(this.peek(ahead))
  }

  /** `---` or `...` alone in front of a line. */
  isDocumentMark(): boolean {
    const mark = this.prefix(3)
    return (mark === '---' || mark === '...') && this.isBlank(3)
  }

  /** Raised where a token cannot begin or go on. */
  refuse(what: string, fix: string, at = this.at, rule = 'syntax'): Unreadable {
    if (this.peek() === '\t')
      return new Unreadable(
        this.at,
        'tab',
        'a tab stands where the reader takes only spaces',
        'Put spaces in its place.',
        [{ start: this.at, end: this.at + 1, text: '  ' }],
      )
    return new Unreadable(at, rule, what, fix)
  }
}
