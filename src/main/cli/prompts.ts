import { StringDecoder } from 'node:string_decoder'
import { printable } from '../../ipc/fault-text.ts'
import { Fault } from '../../ipc/faults.ts'
import { KiB } from '../../ipc/units.ts'
import type { CliIo } from './io.ts'
import { unconfirmed } from './outcome.ts'

const MAX_LINE = 4 * KiB

/** Whether a person can be asked. */
export const interactive = (io: CliIo): boolean => io.stdin.isTTY === true && io.stderr.isTTY === true

/** One typed line; `secret` does not show it. Rejects with `app/cancelled` at Ctrl-C, Ctrl-D or the signal. */
export async function askLine(io: CliIo, question: string, signal: AbortSignal, secret = false): Promise<string> {
  io.stderr.write(`${printable(question)} `)
  io.stdin.setRawMode?.(true)
  io.stdin.resume()
  try {
    return await new Promise<string>((resolve, reject) => {
      const decoder = new StringDecoder('utf8')
      let line = ''
      const end = (outcome: () => void) => {
        io.stdin.off('data', take)
        signal.removeEventListener('abort', stop)
        outcome()
      }
      const stop = () => end(() => reject(new Fault('app/cancelled', 'cancelled')))
      const take = (chunk: Buffer) => {
        for (const char of decoder.write(chunk)) {
          if (char === '\x03' || char === '\x04') return stop()
          if (char === '\r' || char === '\n') return end(() => resolve(line))
          if (char === '\x7f' || char === '\b') {
            if (line !== '' && !secret) io.stderr.write('\b \b')
            line = line.slice(0, -1)
          } else if (char >= ' ' && line.length < MAX_LINE) {
            line += char
            if (!secret) io.stderr.write(char)
          }
        }
      }
      io.stdin.on('data', take)
      signal.addEventListener('abort', stop, { once: true })
    })
  } finally {
    io.stdin.setRawMode?.(false)
    io.stdin.pause()
    io.stderr.write('\n')
  }
}

export async function confirm(io: CliIo, question: string, signal: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(io, `${question} [y/N]`, signal)).trim())
}

/** Resolves once somebody said yes. Raises input/unconfirmed where nobody can be asked, and app/cancelled at a no. */
export async function agreed(
  { io, signal }: { io: CliIo; signal: AbortSignal },
  question: string,
  yes: boolean,
): Promise<void> {
  if (yes) return
  if (!interactive(io)) throw unconfirmed(question)
  if (!(await confirm(io, question, signal))) throw new Fault('app/cancelled', 'cancelled')
}

/** The lines of a stdin that is not a terminal, at most 4 KiB each. */
export async function stdinLines(io: CliIo, count: number): Promise<string[]> {
  let text = ''
  for await (const chunk of io.stdin) {
    text += String(chunk)
    if (text.length > count * MAX_LINE) throw new Fault('input/too-large', 'permanent', { detail: 'standard input' })
  }
  return text.split(/\r?\n/).slice(0, count)
}
