import { open } from 'node:fs/promises'
import { FAULT_CODES } from '../../../ipc/faults.ts'
import { type BundleText, fileOf } from './bundle-file.ts'
import type { Labels } from './labels.ts'
import type { Redactor } from './redactor.ts'

/** Read of the log at most, from its end. */
const TAIL_BYTES = 512 * 1024

/** Whole lines from the end of a file, oldest first; none when it cannot be read. */
export async function tailOf(path: string, bytes = TAIL_BYTES): Promise<string[]> {
  try {
    const handle = await open(path, 'r')
    try {
      const { size } = await handle.stat()
      const start = Math.max(0, size - bytes)
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(Math.min(size, bytes)), position: start })
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n').filter(Boolean)
      return start === 0 ? lines : lines.slice(1)
    } finally {
      await handle.close()
    }
  } catch {
    return []
  }
}

const CODES: readonly string[] = FAULT_CODES
/** Fields by what their values are; values of any other are sentences. */
const NAMES: Record<string, 'host' | 'vm' | 'ca' | 'tenant' | 'task'> = {
  host: 'host',
  vm: 'vm',
  ca: 'ca',
  tenant: 'tenant',
  task: 'task',
}

/** The end of the log; lines that name something of another tenant are not in it. */
export const logFile = (
  labels: Labels,
  lines: readonly string[],
  isForeign: (line: string) => boolean,
): Promise<BundleText> =>
  fileOf(labels, 'log.txt', 'The end of the log of the control plane, oldest first.', function* (r) {
    for (const line of lines) {
      if (isForeign(line)) continue
      yield logLine(r, line)
    }
  })

function logLine(r: Redactor, line: string): string {
  const entry = parsed(line)
  if (!entry) return r.out('text')
  const { at, level, event, stack, ...fields } = entry
  const told = Object.entries(fields).map(([key, value]) => `${r.sentence(key)}=${fieldOf(r, key, value)}`)
  const when = typeof at === 'string' && /^[\d:.TZ-]{20,30}$/.test(at) ? at : r.out('text')
  const head = [when, r.word(String(level), ['info', 'warn', 'error']), r.sentence(String(event).replaceAll('.', ' '))]
  return [...head, ...told, ...framesOf(r, stack)].join(' ')
}

function fieldOf(r: Redactor, key: string, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = String(value)
  if (key === 'code') return r.word(text, CODES)
  const kind = Object.hasOwn(NAMES, key) ? NAMES[key] : undefined
  return kind ? r.label(kind, text) : `"${r.sentence(text)}"`
}

const FRAME =
  /^\s+at (?:(async )?([\w.#<>]{1,80}) )?\(?(?:file:\/\/)?[^()]*?((?:src|dist|node_modules)\/[\w./@-]{1,200}:\d+:\d+)\)?$/

/** Where in this app's own code it was; what the error said is a sentence of elsewhere. */
function framesOf(r: Redactor, stack: unknown): string[] {
  if (typeof stack !== 'string') return []
  const [said = '', ...frames] = stack.split('\n')
  const own = frames.flatMap((frame) => {
    const [, , name = '', place] = FRAME.exec(frame) ?? []
    return place ? [`${name}@${place}`] : []
  })
  return [`"${r.sentence(said)}"`, ...own]
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
