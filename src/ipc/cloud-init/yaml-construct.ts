import { quoted, type Remark, Unreadable } from './finding.ts'
import type { YamlMap, YamlNode, YamlScalar } from './yaml-tree.ts'
import { scalarValue } from './yaml-value.ts'

/** Scalars put together under one name are the same key to the guest. */
const keyOf = (key: YamlScalar): string => {
  const value = scalarValue(key)
  if (value.type === 'date') return `date ${key.text}`
  return 'value' in value ? `${value.type} ${value.value}` : value.type
}

/** What comes of making values of the tree: remarks on keys given twice. Raises Unreadable where SafeLoader would raise. */
export function constructYaml(root: YamlNode, text: string): Remark[] {
  const remarks: Remark[] = []
  const state = new Map<YamlNode, 'open' | 'done'>()
  const visit = (node: YamlNode): void => {
    if (state.get(node) === 'done') return
    if (state.has(node))
      throw new Unreadable(node.start, 'alias', 'this contains a reference to itself', 'Write out what is meant.')
    state.set(node, 'open')
    checkTag(node)
    if (node.kind === 'scalar') checkScalar(node, text)
    else for (const inner of node.kind === 'list' ? node.items : checkMap(node, text, remarks)) visit(inner)
    state.set(node, 'done')
  }
  visit(root)
  return remarks
}

const TAGS_OF: Record<YamlNode['kind'], RegExp> = {
  scalar: /^!!(null|bool|int|float|binary|timestamp|str)$/,
  list: /^!!(seq|omap|pairs)$/,
  map: /^!!(map|set)$/,
}

function checkTag(node: YamlNode): void {
  if (node.tag !== undefined && !TAGS_OF[node.kind].test(node.tag))
    throw new Unreadable(node.start, 'tag', 'a tag says that this is something else than it is', 'Take the tag away.')
}

function checkScalar(node: YamlScalar, text: string): void {
  const value = scalarValue(node)
  const refuse = (rule: string, what: string) =>
    new Unreadable(node.start, rule, what, 'Put the value in quotes.', quoted(text, node.start, node.end))
  if (value.type === 'date' && !value.exists)
    throw refuse('date', 'this looks like a date, and there is no such day or time')
  if (value.type === 'merge' || value.type === 'default')
    throw refuse('syntax', `"${value.type === 'merge' ? '<<' : '='}" alone means nothing as a value`)
  if (value.type === 'impossible')
    throw new Unreadable(
      node.start,
      'tag',
      'this begins as a number or carries a tag, and is not what that says',
      'Put the value in quotes.',
    )
}

/** The nodes inside a map that are made on their own. */
function checkMap(map: YamlMap, text: string, remarks: Remark[]): YamlNode[] {
  const keys = new Set<string>()
  const inside: YamlNode[] = []
  for (const [key, value] of map.pairs) {
    if (key.kind !== 'scalar')
      throw new Unreadable(
        key.start,
        'key',
        text.startsWith('{{', key.start)
          ? 'two braces make a map of a map here, and this text is no template'
          : 'a list or a map cannot be a key',
        text.startsWith('{{', key.start)
          ? 'Put "## template: jinja" into the first line, or the value in quotes.'
          : 'Put the key in quotes.',
      )
    const type = scalarValue(key).type
    if (type === 'merge') checkMerge(value)
    else {
      if (type !== 'default') checkScalar(key, text)
      const name = keyOf(key)
      if (keys.has(name))
        remarks.push({
          at: key.start,
          severity: 'error',
          rule: 'duplicate-key',
          what: 'this key stands here for the second time, and only the last one counts: what stands above is lost',
          fix: 'Put both under one key.',
        })
      keys.add(name)
    }
    inside.push(value)
  }
  return inside
}

function checkMerge(value: YamlNode): void {
  const maps = value.kind === 'list' ? value.items : [value]
  if (!maps.every((map) => map.kind === 'map'))
    throw new Unreadable(
      value.start,
      'merge',
      '"<<" takes in maps, and this is none',
      'Name maps there, as in "<<: *base".',
    )
}
