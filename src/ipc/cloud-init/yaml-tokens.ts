import { Unreadable } from './finding.ts'
import { Cursor } from './yaml-cursor.ts'
import { readBlock, readPlain, readQuoted } from './yaml-scalars.ts'

export type TokenKind =
  | 'document-start'
  | 'document-end'
  | 'directive'
  | 'block-seq'
  | 'block-map'
  | 'block-end'
  | 'key'
  | 'value'
  | 'entry'
  | '['
  | ']'
  | '{'
  | '}'
  | ','
  | 'alias'
  | 'anchor'
  | 'tag'
  | 'scalar'
  | 'unreadable'
  | 'end'

export interface Token {
  kind: TokenKind
  start: number
  end: number
  /** The text of a scalar, the name of an alias or anchor, a tag as written. */
  text: string
  style: '' | 'plain' | 'quoted' | 'block'
  /** It goes on in another line than it began in. */
  tall: boolean
  /** Of `unreadable`. */
  problem?: Unreadable
}

/** A place that becomes a key when a colon follows in its line. */
interface PossibleKey {
  token: number
  required: boolean
  at: number
  line: number
  column: number
}

const KEY_LENGTH = 1024
/** PyYAML itself gives up at some three hundred. */
const MAX_FLOW_DEPTH = 200

/** The tokens PyYAML's scanner finds, with its ideas of tabs, keys and indentation; the last one is `end` or `unreadable`. */
export function scanYaml(text: string, from: number): Token[] {
  return new Scanner(text, from).run()
}

class Scanner {
  readonly #c: Cursor
  readonly #tokens: Token[] = []
  readonly #keys = new Map<number, PossibleKey>()
  readonly #indents: number[] = []
  #indent = -1
  #flow = 0
  #keyAllowed = true

  constructor(text: string, from: number) {
    this.#c = new Cursor(text, text.startsWith('\ufeff', from) ? from + 1 : from)
  }

  run(): Token[] {
    try {
      while (!this.#c.isEnd() || this.#tokens.at(-1)?.kind !== 'end') this.#next()
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      const at = error.remark.at
      this.#tokens.push({ kind: 'unreadable', start: at, end: at, text: '', style: '', tall: false, problem: error })
    }
    return this.#tokens
  }

  #next(): void {
    const c = this.#c
    this.#toToken()
    this.#forgetStaleKeys()
    this.#unwind(c.column)
    const ch = c.peek()
    if (c.isEnd()) this.#endOfText()
    else if (ch === '%' && c.column === 0) this.#directive()
    else if (c.column === 0 && c.isDocumentMark()) this.#documentMark(ch === '-' ? 'document-start' : 'document-end')
    else if (ch === '[' || ch === '{') this.#open(ch)
    else if (ch === ']' || ch === '}') this.#close(ch)
    else if (ch === ',') this.#comma()
    else if (ch === '-' && c.isBlank(1)) this.#entry()
    else if (ch === '?' && (this.#flow > 0 || c.isBlank(1))) this.#complexKey()
    else if (ch === ':' && (this.#flow > 0 || c.isBlank(1))) this.#value()
    else if (ch === '*' || ch === '&') this.#name(ch === '*' ? 'alias' : 'anchor')
    else if (ch === '!') this.#tag()
    else if ((ch === '|' || ch === '>') && this.#flow === 0) this.#block()
    else if (ch === "'" || ch === '"') this.#quoted()
    else if (this.#isPlain(ch)) this.#plain()
    else
      throw c.refuse(
        `a value cannot begin with ${ch === '`' ? 'a backtick' : `"${ch}"`}`,
        'Put the whole value in quotes.',
        c.at,
        'reserved-character',
      )
  }

  #isPlain(ch: string): boolean {
    if (!`\0 \t-?:,[]{}#&*!|>'"%@\``.includes(ch)) return true
    return !this.#c.isBlank(1) && (ch === '-' || (this.#flow === 0 && '?:'.includes(ch)))
  }

  #push(kind: TokenKind, start: number, more: Partial<Token> = {}): void {
    this.#tokens.push({ kind, start, end: this.#c.at, text: '', style: '', tall: false, ...more })
  }

  #toToken(): void {
    const c = this.#c
    for (;;) {
      c.skipSpaces()
      if (c.peek() === '#') while (!c.isLineEnd()) c.skip()
      if (c.lineBreak() === '') return
      if (this.#flow === 0) this.#keyAllowed = true
    }
  }

  #unwind(column: number): void {
    if (this.#flow > 0) return
    while (this.#indent > column) {
      this.#indent = this.#indents.pop() ?? -1
      this.#push('block-end', this.#c.at)
    }
  }

  #deepen(column: number): boolean {
    if (this.#indent >= column) return false
    this.#indents.push(this.#indent)
    this.#indent = column
    return true
  }

  #forgetStaleKeys(): void {
    for (const [flow, key] of this.#keys)
      if (key.line !== this.#c.line || this.#c.at - key.at > KEY_LENGTH) this.#forgetKey(flow)
  }

  #forgetKey(flow = this.#flow): void {
    const key = this.#keys.get(flow)
    if (!key) return
    if (key.required)
      throw new Unreadable(
        key.at,
        'syntax',
        'this line is neither "key: value" nor an item of a list',
        'A key ends with a colon and a space; an item begins with a hyphen and a space.',
      )
    this.#keys.delete(flow)
  }

  #maybeKey(): void {
    const { at, line, column } = this.#c
    const required = this.#flow === 0 && this.#indent === column
    if (!this.#keyAllowed) return
    this.#forgetKey()
    this.#keys.set(this.#flow, { token: this.#tokens.length, required, at, line, column })
  }

  #endOfText(): void {
    this.#unwind(-1)
    this.#forgetKey()
    this.#push('end', this.#c.at)
  }

  #documentMark(kind: 'document-start' | 'document-end'): void {
    const start = this.#c.at
    this.#unwind(-1)
    this.#forgetKey()
    this.#keyAllowed = false
    this.#c.skip(3)
    this.#push(kind, start)
  }

  #directive(): void {
    const c = this.#c
    const start = c.at
    this.#unwind(-1)
    this.#forgetKey()
    this.#keyAllowed = false
    const line = /^[^\r\n\x85\u2028\u2029]*/.exec(c.text.slice(start, start + 4096))?.[0] ?? ''
    const known = /^%(YAML +1\.\d+|TAG +(!|![\w-]*!) +[\w;/?:@&=+$,.!~*'()[\]%-]+) *( #.*)?$/.test(line)
    const other = /^%(?!(?:YAML|TAG)(?:$| ))[\w-]+($| )/.test(line)
    if (!known && !other)
      throw c.refuse('a line cannot begin with "%" here', 'Put the whole value in quotes.', c.at, 'reserved-character')
    c.skip(line.length)
    this.#push('directive', start, { text: line })
  }

  #open(kind: '[' | '{'): void {
    const start = this.#c.at
    this.#maybeKey()
    if (++this.#flow > MAX_FLOW_DEPTH) throw tooDeep(start)
    this.#keyAllowed = true
    this.#c.skip()
    this.#push(kind, start)
  }

  #close(kind: ']' | '}'): void {
    const start = this.#c.at
    if (this.#flow === 0)
      throw this.#c.refuse(`a "${kind}" closes nothing here`, 'Put the whole value in quotes.', start, 'bracket')
    this.#forgetKey()
    this.#flow--
    this.#keyAllowed = false
    this.#c.skip()
    this.#push(kind, start)
  }

  #comma(): void {
    const start = this.#c.at
    this.#keyAllowed = true
    this.#forgetKey()
    this.#c.skip()
    this.#push(',', start)
  }

  #entry(): void {
    const start = this.#c.at
    if (this.#flow === 0) {
      if (!this.#keyAllowed)
        throw new Unreadable(
          start,
          'indent',
          'an item of a list cannot begin in the line of its key',
          'Begin the list in the next line.',
        )
      if (this.#deepen(this.#c.column)) this.#push('block-seq', start)
    }
    this.#keyAllowed = true
    this.#forgetKey()
    this.#c.skip()
    this.#push('entry', start)
  }

  #complexKey(): void {
    const start = this.#c.at
    if (this.#flow === 0) {
      if (!this.#keyAllowed)
        throw new Unreadable(start, 'syntax', 'a key cannot begin here', 'Put the whole value in quotes.')
      if (this.#deepen(this.#c.column)) this.#push('block-map', start)
    }
    this.#keyAllowed = this.#flow === 0
    this.#forgetKey()
    this.#c.skip()
    this.#push('key', start)
  }

  #value(): void {
    const start = this.#c.at
    const key = this.#keys.get(this.#flow)
    if (key) {
      this.#keys.delete(this.#flow)
      const token = (kind: 'key' | 'block-map'): Token => ({
        kind,
        start: key.at,
        end: key.at,
        text: '',
        style: '',
        tall: false,
      })
      this.#tokens.splice(key.token, 0, token('key'))
      if (this.#flow === 0 && this.#deepen(key.column)) this.#tokens.splice(key.token, 0, token('block-map'))
      this.#keyAllowed = false
    } else {
      if (this.#flow === 0) {
        if (!this.#keyAllowed) throw this.#colon(start)
        if (this.#deepen(this.#c.column)) this.#push('block-map', start)
      }
      this.#keyAllowed = this.#flow === 0
      this.#forgetKey()
    }
    this.#c.skip()
    this.#push('value', start)
  }

  #colon(start: number): Unreadable {
    const before = this.#tokens.at(-1)
    const line = this.#c.text.lastIndexOf('\n', start) + 1
    if (before?.kind === 'scalar' && before.tall && before.style === 'plain')
      return new Unreadable(
        line,
        'indent',
        'this line is indented deeper than its neighbours, so it counts as a part of the value above',
        'Give it the indentation of the keys beside it.',
      )
    return new Unreadable(
      start,
      'colon',
      'a colon with a space after it stands inside a value, which makes a second key of it',
      'Put the whole value in quotes.',
    )
  }

  #name(kind: 'alias' | 'anchor'): void {
    const c = this.#c
    const start = c.at
    this.#maybeKey()
    this.#keyAllowed = false
    const name = /^[\w-]+/.exec(c.text.slice(start + 1, start + 1 + KEY_LENGTH))?.[0] ?? ''
    c.skip(1 + name.length)
    if (name === '' || !(c.isBlank() || '?:,]}%@`'.includes(c.peek())))
      throw new Unreadable(
        start,
        kind,
        `a value cannot begin with "${kind === 'alias' ? '*' : '&'}": that is the mark of ${kind === 'alias' ? 'a reference' : 'a name for references'}`,
        'Put the whole value in quotes.',
      )
    this.#push(kind, start, { text: name })
  }

  #tag(): void {
    const c = this.#c
    const start = c.at
    this.#maybeKey()
    this.#keyAllowed = false
    const tag =
      /^!(<[\w;/?:@&=+$,.!~*'()[\]%-]+>|([\w-]*!)?[\w;/?:@&=+$,.!~*'()[\]%-]+)?(?=[\0 \r\n\x85\u2028\u2029]|$)/.exec(
        c.text.slice(start, start + KEY_LENGTH),
      )?.[0]
    if (tag === undefined || (tag === '!' && !c.isBlank(1))) throw strangeTag(start)
    c.skip(tag.length)
    this.#push('tag', start, { text: tag })
  }

  #scalar(style: 'plain' | 'quoted' | 'block', read: () => { text: string; end?: number }): void {
    const start = this.#c.at
    const line = this.#c.line
    const { text, end = this.#c.at } = read()
    this.#push('scalar', start, {
      text,
      end,
      style,
      tall: /[\r\n]/.test(this.#c.text.slice(start, end)) && this.#c.line > line,
    })
  }

  #block(): void {
    this.#keyAllowed = true
    this.#forgetKey()
    this.#scalar('block', () => ({ text: readBlock(this.#c, this.#indent) }))
  }

  #quoted(): void {
    this.#maybeKey()
    this.#keyAllowed = false
    this.#scalar('quoted', () => ({ text: readQuoted(this.#c) }))
  }

  #plain(): void {
    this.#maybeKey()
    this.#keyAllowed = false
    this.#scalar('plain', () => {
      const plain = readPlain(this.#c, this.#indent + 1, this.#flow > 0)
      if (plain.atLineStart) this.#keyAllowed = true
      return plain
    })
  }
}

export const tooDeep = (at: number) =>
  new Unreadable(at, 'syntax', 'this is nested deeper than any reader follows', 'Use fewer levels.')

export const strangeTag = (at: number) =>
  new Unreadable(
    at,
    'tag',
    'a word that begins with "!" is a tag, and cloud-init knows none of this name',
    'Put the whole value in quotes, or take the tag away.',
  )
