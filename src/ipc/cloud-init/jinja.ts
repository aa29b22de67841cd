import { V1_NAMES } from './config-keys.ts'
import type { Remark } from './finding.ts'
import { meant } from './meant.ts'

const CLOSE = { '{{': '}}', '{%': '%}', '{#': '#}' } as const
const BLOCKS = new Set('if for macro call filter with raw block autoescape'.split(' '))

/** A template with its marks taken out, every other character in its place, and what is wrong with the marks. */
export interface Rendered {
  /** Values become as many `x`, all else blanks. */
  text: string
  remarks: Remark[]
  /** Nothing of the text after the first mark that is wrong can be judged. */
  broken: boolean
}

/** Takes a template apart from `from` on. */
export function readJinja(text: string, from: number): Rendered {
  const remarks: Remark[] = []
  const open: { name: string; at: number; left: boolean }[] = []
  let masked = text.slice(0, from)
  // The guest sees one branch: the first is read, and the others would stand beside it. A macro stands elsewhere.
  const isLeft = () => open.some(({ left }) => left)
  const plain = (part: string) => (isLeft() ? part.replaceAll(/[^\r\n]/g, ' ') : part)
  const broken = (at: number, what: string, fix: string): Rendered => ({
    text,
    broken: true,
    remarks: [...remarks, { at, severity: 'error', rule: 'jinja-syntax', what, fix }],
  })
  for (let at = from; ; ) {
    const start = nextMark(text, at)
    if (start < 0) {
      masked += plain(text.slice(at))
      break
    }
    const mark = text.slice(start, start + 2) as keyof typeof CLOSE
    const end = endOf(text, start + 2, mark)
    if (end < 0)
      return broken(
        start,
        `"${mark}" is never closed, and nothing of the document is read`,
        `Close it with "${CLOSE[mark]}".`,
      )
    const inner = text.slice(start + 2, end - 2)
    masked += plain(text.slice(at, start)) + inPlaceOf(text, start, end, isLeft()).repeat(end - start)
    if (mark === '{%') {
      const word = /^[-+]?\s*(\w+)/.exec(inner)?.[1] ?? ''
      const last = open.at(-1)
      if (BLOCKS.has(word)) open.push({ name: word, at: start, left: word === 'macro' })
      else if (/^(?:else|elif)$/.test(word) && last) last.left = true
      else if (/^end\w/.test(word) && word !== 'endset') {
        if (`end${open.pop()?.name}` !== word)
          return broken(start, 'this ends a block that was not begun', 'Take it out, or begin the block it ends.')
      }
    }
    if (mark !== '{#') remarks.push(...unknownNames(inner, start + 2))
    at = end
  }
  const [left] = open
  if (left)
    return broken(
      left.at,
      'this block is never ended, and nothing of the document is read',
      `End it with "{% end${left.name} %}".`,
    )
  return { text: masked, remarks, broken: false }
}

/** What stands for a mark. One alone on its line leaves no line behind, and what begins a line may be more than a value. */
function inPlaceOf(text: string, start: number, end: number, left: boolean): string {
  const line = text.lastIndexOf('\n', start) + 1
  const after = text.indexOf('\n', end)
  const rest = text.slice(end, after < 0 ? undefined : after)
  const isAlone = text.slice(line, start).trim() === '' && rest.trim() === ''
  const isValue = text.startsWith('{{', start)
  if (isAlone && (!isValue || line === start)) return '\n'
  return isValue && !left ? 'x' : ' '
}

function nextMark(text: string, from: number): number {
  const found = /\{[{%#]/g
  found.lastIndex = from
  return found.exec(text)?.index ?? -1
}

/** Just behind the closing mark; quoted text inside is passed over, and a new opening mark before it counts as none. */
function endOf(text: string, from: number, mark: keyof typeof CLOSE): number {
  const close = CLOSE[mark]
  let quote = ''
  for (let at = from; at < text.length; at++) {
    const c = text[at] as string
    if (quote !== '') {
      if (c === '\\') at++
      else if (c === quote) quote = ''
    } else if (text.startsWith(close, at)) return at + 2
    else if (mark !== '{#' && (c === '"' || c === "'")) quote = c
    else if (mark === '{{' && (text.startsWith('{{', at) || text.startsWith('{%', at))) return -1
  }
  return -1
}

function unknownNames(inner: string, offset: number): Remark[] {
  return [...inner.matchAll(/\bv1\.([A-Za-z_]\w*)/g)]
    .filter(([, name = '']) => !V1_NAMES.includes(name))
    .map((match) => {
      const name = match[1] as string
      const better = meant(name, V1_NAMES) ?? V1_NAMES.find((known) => name.length > 3 && known.endsWith(name))
      const start = offset + match.index + 3
      return {
        at: start,
        severity: 'warning',
        rule: 'jinja-name',
        what: `v1 has no ${name.slice(0, 40)}, and a placeholder stands there in the guest`,
        fix: better === undefined ? 'See "cloud-init query --all" for the names there are.' : `Write "v1.${better}".`,
        ...(better === undefined ? {} : { edits: [{ start, end: start + name.length, text: better }] }),
      }
    })
}
