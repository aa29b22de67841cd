import { Unreadable } from './finding.ts'
import { scanYaml, strangeTag, type Token, type TokenKind, tooDeep } from './yaml-tokens.ts'

interface Place {
  start: number
  end: number
  /** Short form, `!!str`; absent = none written. */
  tag?: string
}
export interface YamlScalar extends Place {
  kind: 'scalar'
  text: string
  style: 'plain' | 'quoted' | 'block'
}
export interface YamlList extends Place {
  kind: 'list'
  items: YamlNode[]
}
export interface YamlMap extends Place {
  kind: 'map'
  pairs: [key: YamlNode, value: YamlNode][]
}
/** A scalar, a list or a map; a reference stands for the very node it refers to. */
export type YamlNode = YamlScalar | YamlList | YamlMap

const MAX_DEPTH = 100
const TAGS = 'null bool int float binary timestamp omap pairs set str seq map'.split(' ').map((t) => `!!${t}`)
const YAML_ORG = 'tag:yaml.org,2002:'

/** The one document of the text from an offset on; undefined = nothing but comments. Raises Unreadable where PyYAML would. */
export function readYaml(text: string, from: number): YamlNode | undefined {
  return new Parser(scanYaml(text, from)).document()
}

/** Blocks have no closing mark: they end with the last thing in them. */
const lastEnd = (node: YamlList | YamlMap): number =>
  Math.max(node.start, ...(node.kind === 'list' ? node.items.slice(-1) : (node.pairs.at(-1) ?? [])).map((n) => n.end))

class Parser {
  readonly #tokens: Token[]
  #at = 0
  #depth = 0
  #bareTag = false
  readonly #anchors = new Map<string, YamlNode>()
  #handles: Map<string, string> = new Map()

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  document(): YamlNode | undefined {
    let node: YamlNode | undefined
    if (this.#is('directive', 'document-start')) {
      this.#directives()
      if (!this.#is('document-start')) throw this.#unexpected()
      this.#take()
      node = this.#is('directive', 'document-start', 'document-end', 'end') ? this.#empty() : this.#node(true)
    } else if (!this.#is('end')) node = this.#node(true)
    const ended = this.#is('document-end')
    while (this.#is('document-end')) this.#take()
    const next = this.#peek()
    if (next.kind === 'end') return node
    if (next.kind === 'document-start' || (ended && next.kind === 'directive'))
      throw new Unreadable(
        next.start,
        'several-documents',
        'a second document begins here, and cloud-init takes only texts with one',
        'Put all of it into one document, without "---" in between.',
      )
    throw this.#unexpected()
  }

  #directives(): void {
    for (let yaml = false; this.#is('directive'); ) {
      const { text, start } = this.#take()
      const [, handle = '', prefix = ''] = /^%TAG +(!|![\w-]*!) +(\S+)/.exec(text) ?? []
      const again = text.startsWith('%YAML') && yaml
      if (again || this.#handles.has(handle))
        throw new Unreadable(start, 'syntax', 'a directive is given twice', 'Keep one of them.')
      if (handle !== '') this.#handles.set(handle, prefix)
      yaml ||= text.startsWith('%YAML')
    }
  }

  #peek(): Token {
    const token = this.#tokens[this.#at] as Token
    if (token.problem) throw token.problem
    return token
  }

  #take(): Token {
    const token = this.#peek()
    this.#at++
    return token
  }

  #is(...kinds: TokenKind[]): boolean {
    return kinds.includes(this.#peek().kind)
  }

  #empty(): YamlScalar {
    const at = this.#tokens[this.#at - 1]?.end ?? 0
    return { kind: 'scalar', text: '', style: 'plain', start: at, end: at }
  }

  /** Where a token stands that fits nothing. */
  #unexpected(): Unreadable {
    const token = this.#peek()
    const before = this.#tokens[this.#at - 1]
    if (before?.style === 'quoted' && token.kind === 'scalar')
      return new Unreadable(
        before.tall ? before.start : token.start,
        'quote',
        before.tall
          ? 'this quote is closed by the next one lines further down'
          : 'text stands behind the closing quote',
        'Put quotes around the whole value, and write a quote twice inside its own kind.',
      )
    if (token.kind === 'end' || ['[', '{', ']', '}', ','].includes(token.kind))
      return new Unreadable(
        token.start,
        'bracket',
        'a bracket, brace or comma stands where none can, or one is never closed',
        'Close each bracket and brace, and put values that begin with one in quotes.',
      )
    return new Unreadable(
      token.start,
      'indent',
      'the indentation of this line matches none of the levels above it',
      'Give it exactly the indentation of the lines it belongs beside.',
    )
  }

  #node(block: boolean, indentless = false): YamlNode {
    if (this.#is('alias')) return this.#alias()
    if (++this.#depth > MAX_DEPTH) throw tooDeep(this.#peek().start)
    const { anchor, tag, start } = this.#properties()
    const place = { start: start ?? this.#peek().start, end: 0, ...(tag === undefined ? {} : { tag }) }
    const node = this.#content(place, block, indentless, anchor)
    if (!node) {
      if (start === undefined) throw this.#unexpected()
      const empty: YamlScalar = { ...place, ...this.#empty(), ...(tag === undefined ? {} : { tag }) }
      this.#name(anchor, empty)
      this.#depth--
      return empty
    }
    this.#depth--
    return node
  }

  #alias(): YamlNode {
    const { text, start } = this.#take()
    const node = this.#anchors.get(text)
    if (node) return node
    throw new Unreadable(
      start,
      'alias',
      'a value that begins with "*" refers to a name given above with "&", and there is none',
      'Put the whole value in quotes.',
    )
  }

  #properties(): { anchor?: Token; tag?: string; start?: number } {
    let anchor: Token | undefined
    let tag: Token | undefined
    this.#bareTag = false
    for (const _ of [1, 2]) {
      if (!anchor && this.#is('anchor')) anchor = this.#take()
      else if (!tag && this.#is('tag')) tag = this.#take()
    }
    const first = anchor && tag ? Math.min(anchor.start, tag.start) : (anchor ?? tag)?.start
    const short = tag && this.#shortTag(tag)
    return {
      ...(anchor ? { anchor } : {}),
      ...(short === undefined ? {} : { tag: short }),
      ...(first === undefined ? {} : { start: first }),
    }
  }

  #shortTag({ text, start }: Token): string | undefined {
    // PyYAML resolves even quoted text behind it as if it were plain.
    this.#bareTag = text === '!'
    if (this.#bareTag) return undefined
    const [, verbatim] = /^!<(.*)>$/.exec(text) ?? []
    const [, handle = '!', suffix = ''] = /^(![\w-]*!)(.*)$/.exec(text) ?? [text, '!', text.slice(1)]
    const prefix = this.#handles.get(handle) ?? (handle === '!!' ? YAML_ORG : handle === '!' ? '!' : undefined)
    if (verbatim === undefined && prefix === undefined) throw strangeTag(start)
    const long = verbatim ?? `${prefix}${suffix}`
    const short = long.startsWith(YAML_ORG) ? `!!${long.slice(YAML_ORG.length)}` : long
    if (!TAGS.includes(short)) throw strangeTag(start)
    return short
  }

  #name(anchor: Token | undefined, node: YamlNode): void {
    if (!anchor) return
    if (this.#anchors.has(anchor.text))
      throw new Unreadable(
        anchor.start,
        'anchor',
        'a name given with "&" is given a second time',
        'Give each its own name.',
      )
    this.#anchors.set(anchor.text, node)
  }

  #content(place: Place, block: boolean, indentless: boolean, anchor: Token | undefined): YamlNode | undefined {
    const { kind } = this.#peek()
    if (kind === 'scalar') {
      const { text, style, end, start } = this.#take()
      const bare = this.#bareTag
      const node: YamlScalar = { ...place, start, kind: 'scalar', text, style: bare ? 'plain' : style || 'plain', end }
      this.#name(anchor, node)
      return node
    }
    const list = kind === '[' || (block && kind === 'block-seq') || (indentless && kind === 'entry')
    const map = kind === '{' || (block && kind === 'block-map')
    if (!list && !map) return undefined
    const node: YamlList | YamlMap = list ? { ...place, kind: 'list', items: [] } : { ...place, kind: 'map', pairs: [] }
    this.#name(anchor, node)
    if (node.kind === 'map') kind === '{' ? this.#flowMap(node) : this.#blockMap(node)
    else if (kind === '[') this.#flowList(node)
    else this.#blockList(node, kind === 'entry')
    node.end = kind === '[' || kind === '{' ? (this.#tokens[this.#at - 1]?.end ?? 0) : lastEnd(node)
    return node
  }

  #blockList(node: YamlList, indentless: boolean): void {
    if (!indentless) this.#take()
    while (this.#is('entry')) {
      this.#take()
      const nothing = indentless ? this.#is('entry', 'key', 'value', 'block-end') : this.#is('entry', 'block-end')
      node.items.push(nothing ? this.#empty() : this.#node(true))
    }
    if (indentless) return
    if (!this.#is('block-end')) throw this.#unexpected()
    this.#take()
  }

  #blockMap(node: YamlMap): void {
    this.#take()
    while (this.#is('key')) {
      this.#take()
      const key = this.#is('key', 'value', 'block-end') ? this.#empty() : this.#node(true, true)
      let value: YamlNode = this.#empty()
      if (this.#is('value')) {
        this.#take()
        value = this.#is('key', 'value', 'block-end') ? this.#empty() : this.#node(true, true)
      }
      node.pairs.push([key, value])
    }
    if (!this.#is('block-end')) throw this.#unexpected()
    this.#take()
  }

  #flowPair(close: ']' | '}'): [YamlNode, YamlNode] {
    this.#take()
    const key = this.#is('value', ',', close) ? this.#empty() : this.#node(false)
    return [key, this.#flowValue(close)]
  }

  #flowValue(close: ']' | '}'): YamlNode {
    if (!this.#is('value')) return this.#empty()
    this.#take()
    return this.#is(',', close) ? this.#empty() : this.#node(false)
  }

  #flowList(node: YamlList): void {
    this.#take()
    for (let first = true; !this.#is(']'); first = false) {
      if (!first) this.#comma()
      if (this.#is(']')) break
      if (this.#is('key')) {
        const { start } = this.#peek()
        const pair = this.#flowPair(']')
        node.items.push({ kind: 'map', start, end: pair[1].end, pairs: [pair] })
      } else node.items.push(this.#node(false))
    }
    this.#take()
  }

  #flowMap(node: YamlMap): void {
    this.#take()
    for (let first = true; !this.#is('}'); first = false) {
      if (!first) this.#comma()
      if (this.#is('}')) break
      if (this.#is('key')) node.pairs.push(this.#flowPair('}'))
      else node.pairs.push([this.#node(false), this.#empty()])
    }
    this.#take()
  }

  #comma(): void {
    if (!this.#is(',')) throw this.#unexpected()
    this.#take()
  }
}
