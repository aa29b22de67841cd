import { describe, expect, it } from 'vitest'
import { Unreadable } from '../../../../src/ipc/cloud-init/finding.ts'
import { constructYaml } from '../../../../src/ipc/cloud-init/yaml-construct.ts'
import { readYaml, type YamlNode } from '../../../../src/ipc/cloud-init/yaml-tree.ts'
import { scalarValue } from '../../../../src/ipc/cloud-init/yaml-value.ts'
import { askPyYaml } from '../../../support/pyyaml.ts'
import { RIGHT } from './cases/right.ts'
import { WRONG_CONFIG } from './cases/wrong-config.ts'
import { WRONG_ENVELOPE } from './cases/wrong-envelope.ts'
import { WRONG_YAML } from './cases/wrong-yaml.ts'

const NOT_PRINTABLE = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/
const CASES = [...WRONG_ENVELOPE, ...WRONG_YAML, ...WRONG_CONFIG, ...RIGHT]
  .map((c) => c.input)
  .filter((input) => typeof input === 'string')
  .filter((input) => !NOT_PRINTABLE.test(input))

/** Ours in the words of the referee; undefined = refused. */
function ours(text: string): unknown {
  try {
    const root = readYaml(text, 0)
    if (!root) return 'nothing'
    constructYaml(root, text)
    return tree(root)
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

function tree(node: YamlNode): unknown {
  if (node.kind === 'list') return node.items.map(tree)
  if (node.kind === 'map' && node.tag === '!!set') return { set: flat(node).size }
  if (node.kind === 'map') return { map: [...flat(node)].map(([key, value]) => [JSON.parse(key)[0], tree(value)]) }
  const value = scalarValue(node)
  if (value.type === 'text') return `text ${JSON.stringify(value.value)}`
  if (value.type === 'number' || value.type === 'truth') return `${value.type} ${value.value}`
  return value.type === 'default' ? 'text "="' : value.type
}

/** Keys with the value that counts, in Python's order of insertion. */
function flat(node: Extract<YamlNode, { kind: 'map' }>): Map<string, YamlNode> {
  const own = new Map<string, YamlNode>()
  const merged = new Map<string, YamlNode>()
  for (const [key, value] of node.pairs) {
    if (tree(key) !== 'merge') continue
    for (const map of value.kind === 'list' ? value.items.toReversed() : [value])
      if (map.kind === 'map') for (const [k, v] of flat(map)) merged.set(k, v)
  }
  for (const [k, v] of merged) own.set(k, v)
  for (const [key, value] of node.pairs)
    if (tree(key) !== 'merge')
      own.set(JSON.stringify([tree(key), tree(key) === 'date' && key.kind === 'scalar' ? key.text : '']), value)
  return own
}

const escaped = (value: unknown) =>
  JSON.stringify(value)?.replace(/[\x7f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Compares as text, with the escapes of JSON undone on both sides. */
function plain(value: unknown): string | undefined {
  return escaped(
    JSON.parse(JSON.stringify(value ?? null), (_, v: unknown) =>
      typeof v === 'string' && v.startsWith('text ') ? `text:${JSON.parse(v.slice(5))}` : v,
    ),
  )
}

function judged(texts: string[]): string[] {
  const answers = askPyYaml(texts)
  return texts.flatMap((text, i) => {
    const answer = answers[i]!
    const mine = ours(text)
    if ('refused' in answer)
      return mine === undefined ? [] : [`${JSON.stringify(text)}\n  PyYAML refuses: ${answer.refused}`]
    if (mine === undefined) return [`${JSON.stringify(text)}\n  PyYAML takes it`]
    return plain(mine) === plain(answer.tree)
      ? []
      : [`${JSON.stringify(text)}\n  PyYAML ${plain(answer.tree)}\n  ours   ${plain(mine)}`]
  })
}

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const PIECES =
  `a|b|key|name|0644|644|0o17|0x1f|0b11|1_000|-12|+3|08|1.10|1.|.5|1e3|1.0e+3|.inf|-.INF|.nan|52:54:00:12:34:56|22:22|1:60|1:2.5|yes|No|on|OFF|True|y|n|~|null|Null|2024-02-29|2023-02-29|2024-1-2|2024-1-2 3:04:05|2024-01-02T03:04:05Z|2024-01-02T03:04:05.5 +01:00|=|<<|http://x/y|a:b|a: b|a : b|: |- |-|-x|--|---|...|? |?|?x|[|]|{|}|,|, |: |:|# c|#| #|'|"|'it''s'|"a\\n\\x41\\u00e9"|"\\q"|''|""|&x |*x|*x |&y|!!str |!!int |!x |! |!!seq |!!map |!!set |<<: *x|%|@|\`|\`a|%YAML 1.1|||>|\\|-|>+|\\|2| \\|\n   x\n   y| >-\n    a\n    b\n\n    c|é|😀|\\|\t| \t|zoë`
    .replaceAll('\\|', '\u0001')
    .split('|')
    .map((piece) => piece.replaceAll('\u0001', '|'))
const GAPS = [
  '',
  '',
  ' ',
  ' ',
  '\n',
  '\n',
  '\n  ',
  '\n  ',
  '\n    ',
  '\n- ',
  '\n  - ',
  ': ',
  ': ',
  '  ',
  '\r\n',
  '\n\n',
  ': \n  ',
  '\t',
]

describe('YAML as the guest reads it', () => {
  it('is taken, refused and understood as PyYAML does it, for every input of the table', () => {
    expect(CASES.length).toBeGreaterThan(90)
    expect(judged(CASES)).toEqual([])
  })

  it('reads each kind of scalar as PyYAML does', () => {
    expect(judged(PIECES.flatMap((p) => [p, `- ${p}`, `k: ${p}\n`, `[${p}]`, `{${p}: 1}`, `"${p}"`]))).toEqual([])
  })

  it('agrees with PyYAML on thousands of texts put together from pieces', () => {
    const next = random(20_261_130)
    const pick = <T>(from: readonly T[]) => from[Math.floor(next() * from.length)] as T
    const texts = Array.from({ length: 12_000 }, () => {
      let text = ''
      for (let n = 1 + Math.floor(next() * 8); n > 0; n--) text += pick(PIECES) + pick(GAPS)
      return text
    })
    expect(judged(texts)).toEqual([])
    expect(texts.filter((text) => ours(text) !== undefined).length).toBeGreaterThan(2_000)
  })

  it('agrees with PyYAML on real documents with a character put in, taken out or changed', () => {
    const next = random(19)
    const chars = [...' \n\t:-#"\'[]{},&*!|>%@`?~0a\r']
    const texts = CASES.flatMap((text) =>
      Array.from({ length: 60 }, () => {
        const at = Math.floor(next() * text.length)
        const char = chars[Math.floor(next() * chars.length)] as string
        return text.slice(0, at) + (next() < 0.7 ? char : '') + text.slice(at + (next() < 0.5 ? 1 : 0))
      }),
    ).filter((text) => text.length < 4_000)
    expect(judged(texts)).toEqual([])
  })
})
