import { PART_TYPES } from './config-keys.ts'
import type { Remark, Severity } from './finding.ts'
import { meant } from './meant.ts'

const MOST_PARTS = 100
const MOST_LEVELS = 5

/** A part of a MIME document: what kind it says it is, and where its body stands. */
export interface Part {
  type: string
  from: number
  to: number
  /** Its body is not as it will be: base64 and the like. */
  encoded: boolean
}

interface Field {
  value: string
  at: number
}

/** The parts of a MIME document and what is wrong with its frame. */
export function readMime(text: string, from: number, to: number, level = 0): { parts: Part[]; remarks: Remark[] } {
  const { fields, body } = readHeader(text, from, to)
  const type = fields.get('content-type') ?? { value: 'text/plain', at: from }
  const one = (rule: string, what: string, fix: string, edits?: Remark['edits'], severity: Severity = 'error') => ({
    parts: [],
    remarks: [{ at: type.at, severity, rule, what, fix, ...(edits ? { edits } : {}) }],
  })
  if (level === 0 && !/mime-version:/i.test(text.slice(from, from + 4096)))
    return one(
      'mime-header',
      'without "MIME-Version: 1.0" in its header cloud-init does not see MIME in this, and passes over all of it',
      'Add that line at the top.',
      [{ start: from, end: from, text: 'MIME-Version: 1.0\n' }],
    )
  const kind = (type.value.split(';', 1)[0] ?? '').trim().toLowerCase()
  if (!kind.startsWith('multipart/')) {
    const encoding = fields.get('content-transfer-encoding')?.value.trim().toLowerCase() ?? '7bit'
    const encoded = !['7bit', '8bit', 'binary'].includes(encoding)
    const unknown = PART_TYPES.includes(kind) ? [] : [unknownType(text, kind, type)]
    return { parts: [{ type: kind, from: body, to, encoded }], remarks: unknown }
  }
  const [, quoted, bare] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(type.value) ?? []
  const boundary = quoted ?? bare ?? ''
  if (boundary === '')
    return one(
      'mime-boundary',
      'this says that parts follow, and not by which line they are told apart',
      'Add the line between the parts, without its two hyphens: boundary="…".',
    )
  const ranges = split(text, body, to, `--${boundary}`)
  if (ranges.length === 0)
    return one(
      'mime-boundary',
      'the line that tells the parts apart never comes, so there are no parts',
      'Begin each part with two hyphens and the boundary, exactly as it stands here.',
    )
  if (level === MOST_LEVELS || ranges.length > MOST_PARTS) return { parts: [], remarks: [] }
  const inner = ranges.map((range) => readMime(text, range.from, range.to, level + 1))
  return { parts: inner.flatMap((i) => i.parts), remarks: inner.flatMap((i) => i.remarks) }
}

function unknownType(text: string, kind: string, { at }: Field): Remark {
  const better = meant(kind, PART_TYPES)
  const start = text.toLowerCase().indexOf(kind, at)
  return {
    at,
    severity: 'warning',
    rule: 'mime-type',
    what: 'cloud-init handles no part of this type, and passes over it',
    fix: better === undefined ? 'Use one such as text/cloud-config or text/x-shellscript.' : `Write "${better}".`,
    ...(better === undefined || kind === '' || start < 0
      ? {}
      : { edits: [{ start, end: start + kind.length, text: better }] }),
  }
}

function readHeader(text: string, from: number, to: number): { fields: Map<string, Field>; body: number } {
  const fields = new Map<string, Field>()
  let last: Field | undefined
  // Mail may begin with the line that parts it from other mail.
  let at = text.startsWith('From ', from) && text.includes('\n') ? text.indexOf('\n', from) + 1 : from
  while (at < to) {
    const end = text.indexOf('\n', at)
    const next = end < 0 || end >= to ? to : end + 1
    const line = text.slice(at, next).trimEnd()
    if (line === '') return { fields, body: next }
    const [, name, value = ''] = /^([!-9;-~]+):\s*(.*)$/.exec(line) ?? []
    if (/^[ \t]/.test(line) && last) last.value += ` ${line.trim()}`
    else if (name === undefined) return { fields, body: at }
    else {
      last = { value, at }
      if (!fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), last)
    }
    at = next
  }
  return { fields, body: to }
}

function split(text: string, from: number, to: number, mark: string): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  let open: number | undefined
  for (let at = from; at < to; ) {
    const end = text.indexOf('\n', at)
    const next = end < 0 || end >= to ? to : end + 1
    const line = text.slice(at, next).trimEnd()
    if (line === mark || line === `${mark}--`) {
      if (open !== undefined) ranges.push({ from: open, to: at })
      open = line === mark ? next : undefined
      if (line !== mark) return ranges
    }
    at = next
  }
  return open === undefined ? ranges : [...ranges, { from: open, to }]
}
