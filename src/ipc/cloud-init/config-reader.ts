import type { Shape } from './config-keys.ts'
import { MEANT } from './config-keys.ts'
import { quoted, type Remark, type Severity } from './finding.ts'
import { meant } from './meant.ts'
import type { YamlMap, YamlNode, YamlScalar } from './yaml-tree.ts'
import { isNothing, scalarValue, textOf } from './yaml-value.ts'

const NAME_SHOWN = 40
/** Keys for which a better one is looked for: it costs a look at every key there is. */
const MOST_GUESSES = 200
const TRUTH_WORDS = /^(?:true|false|yes|no|on|off|1|0)$/i

type ItemCheck = (reader: ConfigReader, item: YamlNode) => void

/** What is said of one cloud-config while its rules are gone through. */
export class ConfigReader {
  readonly remarks: Remark[] = []
  /** As written, before templates were taken out. */
  readonly text: string
  readonly #told = new Set<number>()
  readonly #checked = new Map<ItemCheck, Set<YamlNode>>()
  #guesses = 0

  constructor(text: string) {
    this.text = text
  }

  /** Says it once a place. */
  tell(at: number, severity: Severity, rule: string, what: string, fix: string, edits?: Remark['edits']): void {
    if (this.#told.has(at)) return
    this.#told.add(at)
    this.remarks.push({ at, severity, rule, what, fix, ...(edits ? { edits } : {}) })
  }

  /** Checks each item of a list; one that references lead to again has been told of. */
  each(list: YamlNode | undefined, check: ItemCheck): void {
    const checked = this.#checked.get(check) ?? new Set()
    this.#checked.set(check, checked)
    if (list?.kind !== 'list' || checked.has(list)) return
    checked.add(list)
    for (const item of list.items) {
      if (checked.has(item)) continue
      checked.add(item)
      check(this, item)
    }
  }

  isTold(at: number): boolean {
    return this.#told.has(at)
  }

  /** A value that is only known in the guest. */
  isTemplate(node: YamlNode): boolean {
    const written = this.text.slice(node.start, node.end)
    return written.includes('{{') || written.includes('{%')
  }

  /** Goes over the keys of a map: unknown ones, and values of another shape than theirs. */
  map(map: YamlMap, shapes: Readonly<Record<string, Shape>>, where: string): void {
    for (const [key, value] of map.pairs) {
      const name = textOf(key)
      if (name === undefined || (key.kind === 'scalar' && scalarValue(key).type === 'merge')) continue
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape === undefined) this.#unknown(key, name, Object.keys(shapes), where)
      else this.shape(key, value, name, shape)
    }
  }

  #unknown(key: YamlNode, name: string, names: readonly string[], where: string): void {
    const plain = name.toLowerCase().replaceAll('-', '_')
    const alias = Object.hasOwn(MEANT, plain) ? MEANT[plain] : undefined
    const guess = () => (++this.#guesses > MOST_GUESSES ? undefined : meant(name, names))
    const better = alias !== undefined && names.includes(alias) ? alias : guess()
    this.tell(
      key.start,
      'warning',
      'unknown-key',
      `${shown(name)} is no key cloud-init knows ${where}, and is passed over`,
      better === undefined ? 'Check its spelling, or take it out.' : `Write "${better}".`,
      better === undefined || this.text.slice(key.start, key.end) !== name
        ? undefined
        : [{ start: key.start, end: key.end, text: better }],
    )
  }

  shape(key: YamlNode, value: YamlNode, name: string, shape: Shape): void {
    const fails = shape.startsWith('!')
    const kinds = shape.replace('!', '').split('|')
    if (kinds.includes('any') || this.isTemplate(value)) return
    if (isNothing(value)) {
      if (!kinds.includes('nothing')) this.noValue(key.start, `${shown(name)} has no value`, value)
      return
    }
    if (value.kind !== 'scalar') {
      if (!kinds.includes(value.kind)) this.wrongShape(key, name, kinds, fails ? 'error' : 'warning')
      return
    }
    const { type } = scalarValue(value)
    if (kinds.includes('text')) this.scalarText(value, shown(name))
    else if (kinds.includes('truth')) this.#truth(value, name)
    else if (kinds.includes('whole') ? type !== 'number' : true)
      this.wrongShape(key, name, kinds, fails ? 'error' : 'warning')
  }

  noValue(at: number, what: string, value?: YamlNode): void {
    const comment = value?.kind === 'scalar' && /^[ \t]*#/.test(this.text.slice(value.end).split('\n', 1)[0] ?? '')
    this.tell(
      at,
      'warning',
      'no-value',
      comment ? `${what}: what follows "#" is a comment` : what,
      comment ? 'Put the value in quotes, or take the key out.' : 'Give it one, or take it out.',
    )
  }

  wrongShape(key: YamlNode, name: string, kinds: readonly string[], severity: Severity): void {
    const wanted = kinds.filter((kind) => kind !== 'nothing').map((kind) => KIND_WORDS[kind] ?? kind)
    this.tell(
      key.start,
      severity,
      'wrong-shape',
      `${shown(name)} must be ${wanted.join(' or ')}${severity === 'error' ? ', and cloud-init does none of it otherwise' : ''}`,
      kinds.includes('list') ? 'Write one item a line, each with a hyphen in front.' : 'Write it in that form.',
    )
  }

  /** A scalar that must be text; numbers, truth values and dates are told with what they became. */
  scalarText(node: YamlScalar, what: string, severity: Severity = 'warning'): void {
    const value = scalarValue(node)
    if (value.type === 'text' || value.type === 'nothing' || value.type === 'bytes' || this.isTemplate(node)) return
    this.tell(
      node.start,
      severity,
      'not-text',
      `${what} must be text, and without quotes this is read as ${READ_AS[value.type] ?? 'something else'}${
        value.type === 'number' && value.written === 'base60' ? ' in base 60' : ''
      }${value.type === 'number' && value.written === 'octal' ? ' in base 8' : ''}`,
      'Put it in quotes.',
      quoted(this.text, node.start, node.end),
    )
  }

  #truth(node: YamlScalar, name: string): void {
    const value = scalarValue(node)
    if (value.type === 'truth' || (value.type === 'text' && TRUTH_WORDS.test(value.value))) return
    if (value.type === 'number' && (value.value === 0n || value.value === 1n)) return
    this.tell(
      node.start,
      'warning',
      'wrong-value',
      `${shown(name)} must be true or false, and anything else counts as false`,
      'Write true or false.',
    )
  }
}

const KIND_WORDS: Record<string, string> = {
  list: 'a list',
  map: 'a map',
  text: 'text',
  truth: 'true or false',
  whole: 'a number',
}
const READ_AS: Record<string, string> = { number: 'a number', truth: 'true or false', date: 'a date' }

/** A key as findings name it. */
export const shown = (name: string): string => `"${name.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, NAME_SHOWN)}"`

/** The value of a key, the last one where it is given twice, as the guest takes it. */
export function valueAt(map: YamlMap, name: string): YamlNode | undefined {
  return map.pairs.findLast(([key]) => textOf(key) === name)?.[1]
}

/** The key itself, for its place. */
export const keyAt = (map: YamlMap, name: string): YamlNode | undefined =>
  map.pairs.findLast(([key]) => textOf(key) === name)?.[0]

export const truthOf = (node: YamlNode | undefined): boolean | undefined => {
  if (node?.kind !== 'scalar') return undefined
  const value = scalarValue(node)
  if (value.type === 'truth') return value.value
  if (value.type !== 'text' || !TRUTH_WORDS.test(value.value)) return undefined
  return /^(?:true|yes|on|1)$/i.test(value.value)
}

/** An item that must be a map and is none. */
export function noItem(reader: ConfigReader, item: YamlNode, name: string): void {
  if (isNothing(item)) reader.noValue(item.start, `an item of ${shown(name)} has nothing in it`, item)
  else if (!reader.isTemplate(item))
    reader.tell(
      item.start,
      'error',
      'wrong-shape',
      `an item of ${shown(name)} must be a map, and cloud-init does none of it otherwise`,
      'Write "key: value" lines behind the hyphen.',
    )
}
