import { InvalidArgumentError } from 'commander'
import { isId, isLogin, isName } from '../../ipc/names.ts'
import { KiB } from '../../ipc/units.ts'
import { readBounded } from '../bounded-file.ts'
import { readTrouble } from '../file-words.ts'
import { invalid } from './outcome.ts'

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const NAME_RULE =
  'use 1 to 63 lower-case letters, digits and hyphens, starting and ending with a letter or digit, or an id'

/** `120s`, `15m`, `500ms`; a bare number is seconds. Milliseconds, as many as a timer takes. */
export const duration = (text: string): number => span(text, 2 ** 31 - 1)

/** Like `duration`, for what is kept rather than waited for: ten years at most. */
export const longDuration = (text: string): number => span(text, 3_650 * 86_400_000)

function span(text: string, most: number): number {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? []
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN)
  if (!Number.isFinite(ms) || ms <= 0 || ms > most)
    throw new InvalidArgumentError('use a time such as 500ms, 120s, 15m or 1h.')
  return Math.ceil(ms)
}

export function tenantName(text: string): string {
  if (!isName(text)) throw new InvalidArgumentError('use lower-case letters, digits and hyphens.')
  return text
}

export function login(text: string): string {
  if (!isLogin(text)) throw new InvalidArgumentError('use a login name, such as root or debian.')
  return text
}

/** A time that may be none, in whole seconds. */
export const seconds = (text: string): number => (/^0+[a-z]*$/.test(text) ? 0 : Math.ceil(duration(text) / 1000))

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('use a whole number.')
  return Number(text)
}

/** Of a page; none of them is no page. */
export function atMostThousand(text: string): number {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 1000) throw new InvalidArgumentError('use a number from 1 to 1000.')
  return number
}

export function tcpPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('use a port from 1 to 65535.')
  return port
}

export function offset(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('use an offset in bytes.')
  return BigInt(text)
}

export function keyValue(text: string, all: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('use KEY=VALUE.')
  return { ...all, [text.slice(0, at)]: text.slice(at + 1) }
}

export const several = (text: string, all: string[] = []): string[] => [...all, text]

/** A name or id as typed; raises input/invalid for text that can be neither. */
export function reference(noun: 'host' | 'vm' | 'image' | 'template', text: string): string {
  if (isName(text) || isId(text)) return text
  throw invalid(noun, text.slice(0, 80), NAME_RULE)
}

/** A whole file the person named; raises input/invalid with why it cannot be read. */
export async function fileOf(option: string, path: string, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readBounded(path, maxBytes, { waits: true })
  } catch (error) {
    throw invalid(option, path, readTrouble(error))
  }
}

/** A key or certificate in a file of at most 16 KiB, as text. Raises input/invalid. */
export const keyFile = async (option: string, path: string): Promise<string> =>
  (await fileOf(option, path, 16 * KiB)).toString('utf8')

export interface SshTarget {
  host: string
  user: string
  port?: number
}

/** `[USER@]HOST[:PORT]`; an IPv6 address with a port stands in brackets. */
export function sshTarget(text: string): SshTarget {
  const at = text.lastIndexOf('@')
  const user = at < 0 ? '' : text.slice(0, at)
  const rest = text.slice(at + 1)
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(rest)
  const plain = /^([^:]+)(?::(\d{1,5}))?$/.exec(rest)
  const [, host = rest, port] = bracketed ?? plain ?? []
  return { host, user, ...(port === undefined ? {} : { port: Number(port) }) }
}

/** A moment: RFC 3339, or how long ago; raises input/invalid for anything else. */
export function since(text: string, now: number): Date {
  const date = new Date(text)
  if (/^\d{4}-/.test(text) && !Number.isNaN(date.getTime())) return date
  try {
    return new Date(now - duration(text))
  } catch {
    throw invalid('since', text.slice(0, 80), 'use a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h')
  }
}
