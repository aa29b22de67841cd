import { Fault } from './faults.ts'
import { LIMITS } from './units.ts'

// Frame of the /console duplex: 1 byte type, 4 bytes console id (big endian), payload. One frame per WebSocket message.
const TYPES = [
  'open',
  'opened',
  'data',
  'ack',
  'input',
  'take-keyboard',
  'keyboard',
  'skipped',
  'state',
  'close',
  'open-shell',
  'resize',
] as const

export type ConsoleLink = 'live' | 'reconnecting' | 'stopped'

/** Where a shell over SSH is opened: a VM or a host of the tenant, by id or name. */
export interface ShellPlace {
  kind: 'vm' | 'host'
  ref: string
  /** Whom to log in as in a VM; empty = the login every image has. A host is logged in to as its link is. */
  login: string
}

/** Of a terminal, in characters. */
export interface TerminalSize {
  rows: number
  cols: number
}

/** Largest terminal a shell is told of. */
export const MAX_TERMINAL: TerminalSize = { rows: 1000, cols: 1000 }

/** The size nearest to it that a shell may be told; a view without a size yet, or on a wall of screens, has none such. */
export function withinTerminal({ rows, cols }: TerminalSize): TerminalSize {
  const within = (n: number, most: number) => Math.min(most, Math.max(1, Math.floor(n) || 1))
  return { rows: within(rows, MAX_TERMINAL.rows), cols: within(cols, MAX_TERMINAL.cols) }
}

/** Frames of one console, both ways; `id` is the window's own number for it. Offsets count serial bytes from 0. */
export type ConsoleFrame =
  /** Window → broker. Absent `from` means `tailBytes` before the end. */
  | { type: 'open'; id: number; vm: string; from?: bigint; tailBytes?: number; readOnly?: boolean }
  /**
   * Broker → window. `head` is the oldest byte kept. Sent again after each reconnection. `resizes` is of a shell: a resize
   * reaches it; absent = its size stays as it was opened.
   */
  | { type: 'opened'; id: number; start: bigint; end: bigint; head: bigint; title: string; resizes?: boolean }
  | { type: 'data'; id: number; offset: bigint; bytes: Uint8Array }
  /** Window → broker: everything below `offset` is on the screen. */
  | { type: 'ack'; id: number; offset: bigint }
  | { type: 'input'; id: number; bytes: Uint8Array }
  | { type: 'take-keyboard'; id: number }
  /** Broker → window: whether this viewer's input reaches the guest. */
  | { type: 'keyboard'; id: number; holder: boolean }
  | { type: 'skipped'; id: number; from: bigint; to: bigint }
  /** Broker → window. `stopped`: the VM is off; the console stays open and goes on when it starts. */
  | { type: 'state'; id: number; link: ConsoleLink; detail: string }
  /** Either way. From the broker: at most 120 bytes of reason, valid UTF-8. */
  | { type: 'close'; id: number; reason: string }
  /** Window → broker. Answered by `opened` or `close`. Its bytes count from 0, are kept nowhere, and end with its connection. */
  | ({ type: 'open-shell'; id: number } & ShellPlace & TerminalSize)
  /** Window → broker, for a shell. */
  | ({ type: 'resize'; id: number } & TerminalSize)

const utf8 = new TextEncoder()
const text = new TextDecoder()
const bad = (message: string) => new Fault('input/invalid', 'permanent', { field: 'console frame', problem: message })

/** At most `max` bytes of UTF-8, never cutting a character in two. */
export function cutUtf8(reason: string, max = 120): string {
  const bytes = utf8.encode(reason)
  if (bytes.length <= max) return reason
  let end = max
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return text.decode(bytes.subarray(0, end))
}

/** One binary message; does not check the bounds of the payload. */
export function encodeConsoleFrame(frame: ConsoleFrame): Uint8Array<ArrayBuffer> {
  const payload = payloadOf(frame)
  // Console bytes are copied once: at full speed the copies are what costs.
  const head = frame.type === 'data' ? 13 : 5
  const out = new Uint8Array(head + payload.length)
  const view = new DataView(out.buffer)
  view.setUint8(0, TYPES.indexOf(frame.type) + 1)
  view.setUint32(1, frame.id)
  if (frame.type === 'data') view.setBigUint64(5, frame.offset)
  out.set(payload, head)
  return out
}

function payloadOf(frame: ConsoleFrame): Uint8Array {
  switch (frame.type) {
    case 'open': {
      const { vm, from, tailBytes, readOnly } = frame
      return utf8.encode(JSON.stringify({ vm, from: from?.toString(), tailBytes, readOnly }))
    }
    case 'opened': {
      const { start, end, head, title, resizes } = frame
      return utf8.encode(JSON.stringify({ start: `${start}`, end: `${end}`, head: `${head}`, title, resizes }))
    }
    case 'ack':
      return offsets(frame.offset)
    case 'data':
    case 'input':
      return frame.bytes
    case 'take-keyboard':
      return new Uint8Array()
    case 'keyboard':
      return Uint8Array.of(frame.holder ? 1 : 0)
    case 'skipped':
      return offsets(frame.from, frame.to)
    case 'state':
      return utf8.encode(JSON.stringify({ link: frame.link, detail: frame.detail }))
    case 'close':
      return utf8.encode(cutUtf8(frame.reason))
    case 'open-shell': {
      const { kind, ref, login, rows, cols } = frame
      return utf8.encode(JSON.stringify({ kind, ref, login, rows, cols }))
    }
    case 'resize':
      return utf8.encode(JSON.stringify({ rows: frame.rows, cols: frame.cols }))
  }
}

function offsets(...values: bigint[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * values.length))
  values.forEach((v, i) => {
    view.setBigUint64(8 * i, v)
  })
  return new Uint8Array(view.buffer)
}

/** Raises `input/invalid` for anything that is not exactly one frame within the limits. */
export function decodeConsoleFrame(buffer: Uint8Array): ConsoleFrame {
  if (buffer.length < 5) throw bad('shorter than its header')
  if (buffer.length > 5 + 8 + LIMITS.consoleInputBytes) throw bad(`${buffer.length} bytes is too long`)
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  const type = TYPES[view.getUint8(0) - 1]
  const id = view.getUint32(1)
  const body = buffer.subarray(5)
  const need = (n: number) => {
    if (body.length !== n) throw bad(`${type} of ${body.length} bytes`)
  }
  switch (type) {
    case 'open': {
      const o = json(body)
      if (typeof o['vm'] !== 'string' || o['vm'].length > 64) throw bad('open without a VM')
      const from = typeof o['from'] === 'string' ? { from: big(o['from']) } : {}
      const tail =
        Number.isSafeInteger(o['tailBytes']) && Number(o['tailBytes']) >= 0 ? { tailBytes: Number(o['tailBytes']) } : {}
      return { type, id, vm: o['vm'], ...from, ...tail, ...(o['readOnly'] === true ? { readOnly: true } : {}) }
    }
    case 'opened': {
      const o = json(body)
      return {
        type,
        id,
        start: big(o['start']),
        end: big(o['end']),
        head: big(o['head']),
        title: String(o['title'] ?? ''),
        ...(o['resizes'] === true ? { resizes: true } : {}),
      }
    }
    case 'data':
      if (body.length < 8) throw bad('data without an offset')
      return { type, id, offset: view.getBigUint64(5), bytes: body.subarray(8) }
    case 'ack':
      need(8)
      return { type, id, offset: view.getBigUint64(5) }
    case 'input':
      return { type, id, bytes: body }
    case 'take-keyboard':
      need(0)
      return { type, id }
    case 'keyboard':
      need(1)
      return { type, id, holder: body[0] === 1 }
    case 'skipped':
      need(16)
      return { type, id, from: view.getBigUint64(5), to: view.getBigUint64(13) }
    case 'state': {
      const o = json(body)
      const link = o['link']
      if (link !== 'live' && link !== 'reconnecting' && link !== 'stopped') throw bad('state without a link word')
      return { type, id, link, detail: String(o['detail'] ?? '') }
    }
    case 'close':
      return { type, id, reason: text.decode(body) }
    case 'open-shell': {
      const o = json(body)
      const { kind, ref, login = '' } = o
      if (kind !== 'vm' && kind !== 'host') throw bad('a shell of neither a VM nor a host')
      if (typeof ref !== 'string' || ref.length > 64) throw bad('a shell without a place')
      if (typeof login !== 'string' || login.length > 64) throw bad('a shell with a bad login')
      return { type, id, kind, ref, login, ...size(o) }
    }
    case 'resize':
      return { type, id, ...size(json(body)) }
    default:
      throw bad(`type ${view.getUint8(0)}`)
  }
}

function json(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text.decode(body))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw bad('not a JSON object')
}

function size({ rows, cols }: Record<string, unknown>): TerminalSize {
  const within = (n: unknown, most: number): n is number => Number.isInteger(n) && Number(n) >= 1 && Number(n) <= most
  if (!within(rows, MAX_TERMINAL.rows) || !within(cols, MAX_TERMINAL.cols)) throw bad('a terminal of no size')
  return { rows, cols }
}

function big(value: unknown): bigint {
  if (typeof value !== 'string' || !/^\d{1,19}$/.test(value)) throw bad('offset is not a number')
  return BigInt(value)
}
