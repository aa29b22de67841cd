import { valueAt } from '../../../ipc/cloud-init/config-reader.ts'
import type { Edit } from '../../../ipc/cloud-init/finding.ts'
import { readYaml, type YamlMap, type YamlNode } from '../../../ipc/cloud-init/yaml-tree.ts'
import { isNothing, textOf } from '../../../ipc/cloud-init/yaml-value.ts'
import { blockOf, fitsBlock, itemOf, type NewValue, pairOf, scalarOf } from './yaml-write.ts'

/** From the top of the document: names of keys and places in lists. */
export type Path = readonly (string | number)[]

const HEADER = '#cloud-config'

/** A person's cloud-config, and the one edit that makes each change of the form; the rest of the text stays byte for byte. */
export class FormPatch {
  readonly #text: string
  readonly #eol: string
  readonly #root: YamlMap | undefined

  /** The text is one the form can express. */
  constructor(text: string) {
    this.#text = text
    this.#eol = /\r\n/.test(text) ? '\r\n' : '\n'
    const root = text.trim() === '' ? undefined : readYaml(text, 0)
    this.#root = root?.kind === 'map' ? root : undefined
  }

  /** Writes one value; a key that is not there comes behind the last of its map. */
  set(path: Path, value: string | boolean): Edit {
    const node = this.#at(path)
    if (!node) return this.#addPair(path, value)
    if (isNothing(node) && node.start === node.end)
      return { start: node.end, end: node.end, text: ` ${scalarOf(value)}` }
    const isBlock = node.kind === 'scalar' && node.style === 'block'
    if (typeof value === 'string' && (fitsBlock(value) || (isBlock && value.trim() !== '' && fitsBlock(`${value}\n`))))
      return this.#setBlock(path, node, value)
    return { start: node.start, end: this.#endOf(node), text: scalarOf(value) }
  }

  /** Puts an item behind the last of a list, which is made where there is none. */
  add(path: Path, value: NewValue): Edit {
    const list = this.#at(path)
    if (list?.kind === 'list' && list.items.length > 0) {
      const column = this.#columnOf(list.start)
      const at = this.#lineEnd(this.#endOf(list))
      return this.#insert(at, `${' '.repeat(column)}- ${itemOf(value, column + 2, this.#eol)}`)
    }
    const key = this.#keyAt(path)
    if (key) {
      const column = this.#columnOf(key.start)
      const indent = ' '.repeat(column + 2)
      return this.#insert(this.#lineEnd(key.end), `${indent}- ${itemOf(value, column + 4, this.#eol)}`)
    }
    const name = String(path.at(-1))
    const item = (column: number) => {
      const indent = ' '.repeat(column + 2)
      return `${name}:${this.#eol}${indent}- ${itemOf(value, column + 4, this.#eol)}`
    }
    return this.#appendTo(path.slice(0, -1), item)
  }

  /** Takes out an item with its lines, or a key that is not the first of an item. */
  remove(path: Path): Edit {
    const last = path.at(-1)
    const parent = this.#at(path.slice(0, -1))
    if (typeof last === 'number' && parent?.kind === 'list') {
      const item = parent.items[last]!
      const start = this.#lineStart(item.start)
      const end = this.#afterLine(this.#endOf(item))
      if (parent.items.length > 1) return { start, end, text: '' }
      const key = this.#keyAt(path.slice(0, -1))!
      const between = this.#text.slice(key.end, start)
      if (/^:[ \t]*\r?\n$/.test(between)) return { start: this.#lineStart(key.start), end, text: '' }
      const indent = ' '.repeat(this.#columnOf(key.start) + 2)
      return { start, end, text: `${indent}[]${this.#text.slice(this.#lineEnd(this.#endOf(item)), end)}` }
    }
    const key = this.#keyAt(path)!
    const node = this.#at(path)!
    if (!/^ *$/.test(this.#text.slice(this.#lineStart(key.start), key.start))) return this.set(path, '')
    return { start: this.#lineStart(key.start), end: this.#afterLine(this.#endOf(node)), text: '' }
  }

  #setBlock(path: Path, node: YamlNode, value: string): Edit {
    const key = typeof path.at(-1) === 'number' ? undefined : this.#keyAt(path)
    const column = key ? this.#columnOf(key.start) : this.#columnOf(node.start) - 2
    const { header, lines } = blockOf(value, column, this.#eol)
    const end = this.#endOf(node)
    const behind = this.#text.slice(end, this.#lineEnd(end))
    return { start: node.start, end: end + behind.length, text: `${header}${behind}${this.#eol}${lines}` }
  }

  #addPair(path: Path, value: string | boolean): Edit {
    return this.#appendTo(path.slice(0, -1), (column) => pairOf(String(path.at(-1)), value, column, this.#eol))
  }

  /** Behind the last pair of a map, at its column. */
  #appendTo(path: Path, write: (column: number) => string): Edit {
    const map = this.#at(path)
    if (path.length > 0 && map?.kind === 'map') {
      const column = this.#columnOf(map.start)
      return this.#insert(this.#lineEnd(this.#endOf(map)), ' '.repeat(column) + write(column))
    }
    if (this.#text.trim() === '')
      return { start: 0, end: this.#text.length, text: `${HEADER}${this.#eol}${write(0)}${this.#eol}` }
    if (!this.#root) return this.#insert(this.#text.trimEnd().length, write(0))
    return this.#insert(this.#lineEnd(this.#endOf(this.#root)), write(0))
  }

  /** A line of its own behind the one that ends at `at`. */
  #insert(at: number, line: string): Edit {
    const ends = at === this.#text.length
    return { start: at, end: at, text: `${this.#eol}${line}${ends ? this.#eol : ''}` }
  }

  #at(path: Path): YamlNode | undefined {
    let node: YamlNode | undefined = this.#root
    for (const step of path) {
      if (typeof step === 'number') node = node?.kind === 'list' ? node.items[step] : undefined
      else node = node?.kind === 'map' ? valueAt(node, step) : undefined
    }
    return node
  }

  #keyAt(path: Path): YamlNode | undefined {
    const map = this.#at(path.slice(0, -1))
    return map?.kind === 'map' ? map.pairs.findLast(([key]) => textOf(key) === path.at(-1))?.[0] : undefined
  }

  /** Without the blank lines that the last block in it reaches over. */
  #endOf(node: YamlNode): number {
    return node.start + this.#text.slice(node.start, node.end).trimEnd().length
  }

  #columnOf(at: number): number {
    return at - this.#lineStart(at)
  }

  #lineStart(at: number): number {
    return this.#text.lastIndexOf('\n', at - 1) + 1
  }

  /** In front of the break. */
  #lineEnd(at: number): number {
    const end = this.#text.indexOf('\n', at)
    if (end < 0) return this.#text.length
    return this.#text[end - 1] === '\r' && end > at ? end - 1 : end
  }

  #afterLine(at: number): number {
    const end = this.#text.indexOf('\n', at)
    return end < 0 ? this.#text.length : end + 1
  }
}

/** The text with an edit made. */
export const edited = (text: string, { start, end, text: put }: Edit): string =>
  text.slice(0, start) + put + text.slice(end)
