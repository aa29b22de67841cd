import { LIMITS } from '../units.ts'
import { checkCloudConfig } from './cloud-config.ts'
import type { Finding, Remark } from './finding.ts'
import { checkBlank, explainFirstLine, foreign, isJinjaLine, type Kind, kindAt } from './first-line.ts'
import { readJinja } from './jinja.ts'
import { readMime } from './mime.ts'
import { checkInclude, checkScript } from './script.ts'

/** Most findings of one document. */
export const MOST_FINDINGS = 100
/** EC2 takes no more, and tools made for it follow. */
const COMMON_LIMIT = 16 * 1024
const KINDS_OF_PARTS: Record<string, Kind> = {
  'text/cloud-config': 'cloud-config',
  'text/jinja2': 'jinja',
  'text/x-include-url': 'include',
  'text/x-include-once-url': 'include',
}

/** What is to be said of user-data, in the order of its lines; never throws, never repeats a value. */
export function checkUserData(userData: Uint8Array | string): Finding[] {
  const bytes = typeof userData === 'string' ? new TextEncoder().encode(userData) : userData
  if (bytes.length === 0) return []
  if (bytes.length > LIMITS.cloudInitBytes) return [tooLarge()]
  const text = typeof userData === 'string' ? userData : decoded(bytes)
  if (text === undefined) return [notText(bytes)]
  const remarks = checkText(text)
  if (bytes.length > COMMON_LIMIT)
    remarks.push({
      at: 0,
      wholeLine: true,
      severity: 'info',
      rule: 'large',
      what: 'this is larger than the 16 KiB that EC2 and others accept; here 64 KiB are',
      fix: 'Nothing needs to be done unless it is used elsewhere too.',
    })
  return findings(text, remarks)
}

/** The finding user-data is refused for; undefined = it is accepted. */
export const refusalOf = (found: readonly Finding[]): Finding | undefined =>
  found.find((finding) => finding.severity === 'error')

const tooLarge = (): Finding => ({
  line: 1,
  severity: 'error',
  rule: 'too-large',
  what: 'user-data is larger than 64 KiB',
  fix: 'Fetch the larger part in the guest, with #include or curl.',
})

const decoded = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function notText(bytes: Uint8Array): Finding {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    return {
      line: 1,
      severity: 'info',
      rule: 'compressed',
      what: 'this is compressed, so nothing in it was looked at',
      fix: 'Check the text before it is compressed.',
    }
  let good = 0
  for (let step = bytes.length; step > 0; step = Math.floor(step / 2))
    while (good + step <= bytes.length && isPrefix(bytes.subarray(0, good + step))) good += step
  return {
    line: bytes.subarray(0, good).filter((b) => b === 10).length + 1,
    severity: 'error',
    rule: 'not-utf8',
    what: 'this line is not UTF-8, and cloud-init passes over all of a text that is not',
    fix: 'Save it as UTF-8.',
  }
}

const isPrefix = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function checkText(text: string): Remark[] {
  if (text.trim() === '')
    return [
      {
        at: 0,
        severity: 'warning',
        rule: 'empty',
        what: 'there is nothing in this but blanks',
        fix: 'Write what is wanted, or leave the user-data empty.',
      },
    ]
  if (!text.startsWith('\ufeff')) return checkPart(text, 0, text.length, undefined)
  const mark: Remark = {
    at: 0,
    wholeLine: true,
    severity: 'error',
    rule: 'byte-order-mark',
    what: 'an invisible byte order mark stands in front of the header, and cloud-init passes over all of it',
    fix: 'Save it as UTF-8 without one.',
    edits: [{ start: 0, end: 1, text: '' }],
  }
  return [mark, ...checkPart(text, 1, text.length, undefined)]
}

/** One document or one part of a MIME document; `said` = the kind its header gives. */
function checkPart(whole: string, from: number, to: number, said: Kind | undefined): Remark[] {
  const text = whole.slice(0, to)
  const start = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0)
  if (start === text.length) return []
  const kind = said ?? kindAt(text, start)
  if (kind === undefined) return [foreign(text, start) ?? explainFirstLine(text, start)]
  const remarks = said === undefined ? checkBlank(kind, from, start) : []
  switch (kind) {
    case 'cloud-config':
      return [...remarks, ...plainConfig(text, start)]
    case 'script':
      return [...remarks, ...checkScript(text, start)]
    case 'include':
      return [...remarks, ...checkInclude(text, start)]
    case 'jinja':
      return [...remarks, ...checkTemplate(text, start, said !== undefined)]
    case 'mime':
      return [...remarks, ...checkMime(text, start)]
    default:
      return remarks
  }
}

function plainConfig(text: string, start: number): Remark[] {
  const remarks = checkCloudConfig(text, start)
  const brace = /^[^#\n]*?(\{\{-?\s*(?:v1|ds)\b)/m.exec(text.slice(start))
  if (!brace || remarks.some((remark) => remark.rule === 'key')) return remarks
  return [
    ...remarks,
    {
      at: start + brace.index + brace[0].length - (brace[1] ?? '').length,
      severity: 'warning',
      rule: 'jinja-header',
      what: 'names in two braces are put in only in templates, and this is none',
      fix: 'Put "## template: jinja" into the first line.',
      edits: [{ start, end: start, text: '## template: jinja\n' }],
    },
  ]
}

function checkTemplate(text: string, start: number, said: boolean): Remark[] {
  if (!isJinjaLine(text, start, said)) return [explainFirstLine(text, start)]
  const line = text.indexOf('\n', start)
  if (line < 0) return []
  const { text: rendered, remarks, broken } = readJinja(text, line + 1)
  if (broken) return remarks
  const rest = line + 1 + (/^\s*/.exec(rendered.slice(line + 1))?.[0].length ?? 0)
  const kind = kindAt(rendered, rest)
  if (kind === 'cloud-config') return [...remarks, ...checkCloudConfig(rendered, rest, text)]
  if (kind !== undefined || rest === text.length || rendered.slice(rest, rest + 1) !== text.slice(rest, rest + 1))
    return remarks
  return [...remarks, explainFirstLine(rendered, rest)]
}

function checkMime(text: string, start: number): Remark[] {
  const { parts, remarks } = readMime(text, start, text.length)
  for (const { type, from, to, encoded } of parts) {
    if (encoded) continue
    if (type === 'text/plain' || type === 'text/x-shellscript') remarks.push(...checkPart(text, from, to, undefined))
    else if (KINDS_OF_PARTS[type]) remarks.push(...checkPart(text, from, to, KINDS_OF_PARTS[type]))
  }
  return remarks
}

/** Errors are kept when there are more than are shown. */
function findings(text: string, remarks: Remark[]): Finding[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const rank = { error: 0, warning: 1, info: 2 }
  return remarks
    .toSorted((a, b) => rank[a.severity] - rank[b.severity] || a.at - b.at)
    .slice(0, MOST_FINDINGS)
    .toSorted((a, b) => a.at - b.at || rank[a.severity] - rank[b.severity])
    .map(({ at, wholeLine, ...rest }) => {
      const line = lineOf(starts, at)
      return { line: line + 1, ...(wholeLine ? {} : { column: at - (starts[line] ?? 0) + 1 }), ...rest }
    })
}

function lineOf(starts: readonly number[], at: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}
