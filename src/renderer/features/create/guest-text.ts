import type { Finding } from '../../../ipc/cloud-init/finding.ts'
import { isJinjaLine, kindAt } from '../../../ipc/cloud-init/first-line.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { type Effects, effectsOf } from './effects.ts'
import { type JinjaData, type JinjaResult, renderJinja } from './jinja-render.ts'

/** EC2's limit, which tools made for it follow. */
export const BUDGET_BYTES = 16 * 1024

/** What a guest gets of a text, byte for byte. */
export interface GuestText {
  bytes: number
  /** Of the hard limit here. */
  tooLarge: boolean
  /** Of the budget, 1 = all of it. */
  share: number
  /** The first line as bytes: 10 a row, at most three rows. */
  hex: { bytes: string; text: string }[]
  lineEnds: 'Unix' | 'Windows' | 'mixed' | 'none'
  byteOrderMark: boolean
  /** Absent = it is no template. */
  rendered: JinjaResult | undefined
  effects: Effects
  secrets: number
}

const ROW = 10
const ROWS = 3

/** Never throws; the same text and data, the same answer. */
export function guestText(text: string, data: JinjaData, found: readonly Finding[]): GuestText {
  const bytes = new TextEncoder().encode(text)
  const bare = text.replace(/^\ufeff/, '')
  const isTemplate = kindAt(bare, 0) === 'jinja' && isJinjaLine(bare, 0, false)
  const rendered = isTemplate ? renderJinja(bare.slice(bare.indexOf('\n') + 1 || bare.length), data) : undefined
  return {
    bytes: bytes.length,
    tooLarge: bytes.length > LIMITS.cloudInitBytes,
    share: bytes.length / BUDGET_BYTES,
    hex: hexOf(bytes),
    lineEnds: lineEndsOf(text),
    byteOrderMark: text.startsWith('\ufeff'),
    rendered,
    effects:
      bytes.length > LIMITS.cloudInitBytes
        ? { list: [], unread: 'It is larger than 64 KiB.' }
        : effectsOf(rendered?.text ?? bare),
    secrets: found.filter(({ rule }) => rule === 'secret-in-clear').length,
  }
}

function hexOf(bytes: Uint8Array): GuestText['hex'] {
  const end = bytes.indexOf(10)
  const line = bytes.subarray(0, Math.min(end < 0 ? bytes.length : end + 1, ROW * ROWS))
  return Array.from({ length: Math.ceil(line.length / ROW) }, (_, i) => {
    const row = [...line.subarray(i * ROW, (i + 1) * ROW)]
    return {
      bytes: row.map((byte) => byte.toString(16).padStart(2, '0')).join(' '),
      text: row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join(''),
    }
  })
}

function lineEndsOf(text: string): GuestText['lineEnds'] {
  const windows = text.match(/\r\n/g)?.length ?? 0
  const all = text.match(/\n/g)?.length ?? 0
  if (all === 0) return 'none'
  return windows === 0 ? 'Unix' : windows === all ? 'Windows' : 'mixed'
}
