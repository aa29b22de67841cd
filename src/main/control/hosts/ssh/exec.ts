import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import type { CommandChannel } from './channel.ts'
import type { SshConnection } from './connection.ts'
import { openCommand } from './open-command.ts'

export interface ExecOptions {
  /** Name of the host, for faults. */
  host: string
  signal: AbortSignal
  timeoutMs: number
  /** Written whole, then closed. Absent = no input. */
  stdin?: string
}

export interface ExecResult {
  /** Exit status; 255 when the command died by a signal. */
  code: number
  stdout: string
  stderr: string
}

/** More output than this, of either stream, ends the command. */
export const EXEC_OUTPUT_BYTES = 256 * KiB

/** Runs one command to its end. Raises ssh/protocol past its time or output bound, and what the connection ended with. */
export async function runCommand(
  connection: Pick<SshConnection, 'exec'>,
  command: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const channel = await openCommand(connection, command, options.signal)
  const collected = collect(channel, options)
  channel.end(options.stdin ?? '')
  return collected
}

/** Waits for a channel's end while gathering what it says. `onText` sees each stream as it grows. */
export function collect(
  channel: CommandChannel,
  { host, signal, timeoutMs }: Omit<ExecOptions, 'stdin'>,
  onText: (texts: { stdout: string; stderr: string }) => void = () => {},
): Promise<ExecResult> {
  const texts = { stdout: '', stderr: '' }
  return new Promise((resolve, reject) => {
    let code: number | undefined
    let signalled = false
    const fail = (error: unknown) => {
      finish()
      channel.destroy()
      reject(error)
    }
    const broke = (detail: string) => fail(new Fault('ssh/protocol', 'transient', { host, detail }))
    const timer = setTimeout(() => broke(`a command took longer than ${timeoutMs / 1000} s`), timeoutMs)
    const abort = () => fail(signal.reason)
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    const gather = (name: keyof typeof texts) => (chunk: Buffer) => {
      texts[name] += chunk.toString('utf8')
      if (texts[name].length > EXEC_OUTPUT_BYTES) broke('a command said more than allowed')
      else onText(texts)
    }
    channel.on('data', gather('stdout'))
    channel.stderr.on('data', gather('stderr'))
    channel.on('error', () => {})
    channel.on('exit', (status: number | null) => {
      code = status ?? 255
      signalled = status === null
    })
    channel.on('close', () => {
      finish()
      if (code === undefined && !signalled) reject(channel.lost ?? new Fault('ssh/lost', 'transient', { host }))
      else resolve({ code: code ?? 255, ...texts })
    })
  })
}

/** One word for any POSIX shell, csh and fish. Raises input/invalid for a line break, which csh cannot quote. */
export function shellWord(text: string): string {
  if (/[\n\0]/.test(text))
    throw new Fault('input/invalid', 'permanent', { field: 'path', problem: 'it has a line break' })
  return `'${text.replace(/'/g, `'\\''`).replace(/!/g, `'\\!'`)}'`
}
