import { valueAt } from '../../../ipc/cloud-init/config-reader.ts'
import { Unreadable } from '../../../ipc/cloud-init/finding.ts'
import { type Kind, kindAt } from '../../../ipc/cloud-init/first-line.ts'
import { constructYaml } from '../../../ipc/cloud-init/yaml-construct.ts'
import { readYaml, type YamlMap, type YamlNode } from '../../../ipc/cloud-init/yaml-tree.ts'
import { isNothing, scalarValue, textOf } from '../../../ipc/cloud-init/yaml-value.ts'
import type { Path } from './form-patch.ts'

/** One value the form shows. */
export interface FormText {
  path: Path
  text: string
  line: number
  /** The form shows it as it is written and leaves it alone. */
  fixed: boolean
}

export interface FormFile {
  path: Path
  line: number
  fixed: boolean
  file: string
  permissions: string
  content: string
  /** Keys the form does not show; they stay. */
  others: string[]
}

export interface FormUser {
  path: Path
  line: number
  fixed: boolean
  name: string
  keys: FormText[]
  others: string[]
}

export interface FormView {
  hostname: string
  packages: FormText[]
  commands: FormText[]
  files: FormFile[]
  users: FormUser[]
  /** Other keys of the document, with their lines; they stay as they are. */
  others: { key: string; line: number }[]
}

/** What the form makes of a text, or the lines it cannot express. */
export type FormReading = { view: FormView } | { refused: { line: number; why: string }[] }

const SHOWN = ['hostname', 'packages', 'runcmd', 'write_files', 'users']
const KIND_WORDS: Record<Kind, string> = {
  'cloud-config': '',
  script: 'this is a script, which has no form',
  jinja: 'this is a template, and what its values become is known in the guest alone',
  include: 'this is a list of addresses, which has no form',
  boothook: 'this is a boot hook, which has no form',
  mime: 'these are several documents in one',
  other: 'this is no cloud-config',
}
const EMPTY: FormView = { hostname: '', packages: [], commands: [], files: [], users: [], others: [] }

/** Reads a text for the form. Never throws. */
export function readForm(text: string): FormReading {
  if (text.trim() === '') return { view: EMPTY }
  const kind = /^\s/.test(text) ? undefined : kindAt(text, 0)
  if (kind !== 'cloud-config')
    return { refused: [{ line: 1, why: kind ? KIND_WORDS[kind] : 'its first line is no header' }] }
  try {
    const root = readYaml(text, 0)
    if (!root || isNothing(root)) return { view: EMPTY }
    const reader = new FormReader(text)
    if (root.kind !== 'map' || text[root.start] === '{')
      return { refused: [{ line: reader.lineOf(root), why: 'it is not written as "key: value" lines' }] }
    const twice = constructYaml(root, text)
    if (twice.length > 0) return { refused: twice.map(({ at, what }) => ({ line: reader.lineAt(at), why: what })) }
    const view = reader.read(root)
    return reader.refused.length > 0 ? { refused: reader.refused } : { view }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    const { at, what } = error.remark
    return { refused: [{ line: text.slice(0, at).split('\n').length, why: what }] }
  }
}

class FormReader {
  readonly refused: { line: number; why: string }[] = []
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  lineAt = (at: number): number => this.#text.slice(0, at).split('\n').length
  lineOf = (node: YamlNode): number => this.lineAt(node.start)

  read(root: YamlMap): FormView {
    const hostname = valueAt(root, 'hostname')
    if (hostname && !this.#isPlain(hostname, root)) this.#refuse(hostname, 'the host name is not one plain value')
    return {
      hostname: hostname?.kind === 'scalar' && !isNothing(hostname) ? hostname.text : '',
      packages: this.#texts(root, ['packages']),
      commands: this.#texts(root, ['runcmd']),
      files: this.#items(root, ['write_files']).map(([node, path]) => this.#file(node, path)),
      users: this.#items(root, ['users']).map(([node, path]) => this.#user(node, path)),
      others: root.pairs
        .map(([key]) => ({ key: textOf(key) ?? this.#source(key), line: this.lineOf(key) }))
        .filter(({ key }) => !SHOWN.includes(key)),
    }
  }

  /** Items of a list at a key of `map`; refuses one the form could not add to. */
  #items(map: YamlMap, path: Path): [YamlNode, Path][] {
    const list = valueAt(map, String(path.at(-1)))
    if (!list || isNothing(list)) {
      if (list && list.start !== list.end) this.#refuse(list, `"${path.at(-1)}" is written as empty`)
      return []
    }
    if (list.kind !== 'list' || this.#text[list.start] !== '-' || list.tag !== undefined)
      return this.#refuse(list, `"${path.at(-1)}" is not a list of one item a line`)
    let end = list.start
    for (const item of list.items) {
      if (item.start < end || !this.#isOwnLine(item))
        return this.#refuse(item, 'this item does not begin behind a hyphen of its own')
      if (item.kind === 'scalar' && item.style === 'block' && /^[|>]\d?\+/.test(this.#source(item)))
        return this.#refuse(item, 'this block keeps the blank lines behind it')
      end = item.end
    }
    return list.items.map((item, i) => [item, [...path, i]])
  }

  #texts(map: YamlMap, path: Path): FormText[] {
    return this.#items(map, path).map(([node, at]) => this.#shown(node, at))
  }

  #shown(node: YamlNode, path: Path): FormText {
    const isText = node.kind === 'scalar' && node.tag === undefined && textOf(node) !== undefined
    return { path, text: isText ? node.text : this.#source(node).trimEnd(), line: this.lineOf(node), fixed: !isText }
  }

  #file(node: YamlNode, path: Path): FormFile {
    const line = this.lineOf(node)
    const plain =
      node.kind === 'map' &&
      this.#isBlockMap(node) &&
      ['path', 'permissions', 'content'].every((key) => this.#isEditable(node, key))
    const field = (key: string) => (node.kind === 'map' ? this.#field(node, key) : '')
    const file = field('path') || this.#source(node).split('\n', 1)[0]!
    const others = this.#others(node, ['path', 'permissions', 'content'])
    return { path, line, fixed: !plain, file, permissions: field('permissions'), content: field('content'), others }
  }

  #user(node: YamlNode, path: Path): FormUser {
    const line = this.lineOf(node)
    if (node.kind !== 'map' || !this.#isBlockMap(node) || !this.#isEditable(node, 'name'))
      return { path, line, fixed: true, name: this.#source(node).split('\n', 1)[0]!, keys: [], others: [] }
    const before = this.refused.length
    const keys = this.#texts(node, [...path, 'ssh_authorized_keys'])
    const fixed = this.refused.length > before
    this.refused.length = before
    const others = this.#others(node, ['name', 'ssh_authorized_keys'])
    return { path, line, fixed, name: this.#field(node, 'name'), keys, others }
  }

  #others(node: YamlNode, shown: readonly string[]): string[] {
    if (node.kind !== 'map') return []
    return node.pairs.map(([key]) => textOf(key) ?? '').filter((key) => key !== '' && !shown.includes(key))
  }

  #field(map: YamlMap, key: string): string {
    const node = valueAt(map, key)
    return node?.kind === 'scalar' && !isNothing(node) ? node.text : ''
  }

  #isEditable(map: YamlMap, key: string): boolean {
    const node = valueAt(map, key)
    return node === undefined || (this.#isPlain(node, map) && !/^[|>]\d?\+/.test(this.#source(node)))
  }

  /** One value that stands where its map says: no reference, no tag, no name given to it. */
  #isPlain(node: YamlNode, map: YamlMap): boolean {
    if (node.kind !== 'scalar' || node.tag !== undefined || scalarValue(node).type === 'bytes') return false
    const key = map.pairs.findLast(([, value]) => value === node)?.[0]
    return key !== undefined && /^:[ \t]*$/.test(this.#text.slice(key.end, node.start))
  }

  #isBlockMap(map: YamlMap): boolean {
    const merged = map.pairs.some(([key]) => key.kind === 'scalar' && key.text === '<<')
    return this.#text[map.start] !== '{' && map.tag === undefined && !merged
  }

  #isOwnLine(node: YamlNode): boolean {
    const line = this.#text.lastIndexOf('\n', node.start - 1) + 1
    return /^ *- +$/.test(this.#text.slice(line, node.start))
  }

  #source = (node: YamlNode): string => this.#text.slice(node.start, node.end)

  #refuse(node: YamlNode, why: string): [] {
    this.refused.push({ line: this.lineOf(node), why })
    return []
  }
}
