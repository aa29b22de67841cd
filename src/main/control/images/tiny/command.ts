import { spawn } from 'node:child_process'
import { Fault } from '../../../../ipc/faults.ts'

const MAX_OUTPUT_BYTES = 16 << 20
const COMMAND_TIMEOUT_MS = 300_000

export interface CommandOptions {
  cwd?: string
  signal: AbortSignal
  /** Called with each line of output while it runs. */
  onLine?: (line: string) => void
}

/** Runs a program of this computer without a shell; its stdout. Raises image/build-failed with the last words of its stderr, or the abort's reason. */
export async function command(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  options.signal.throwIfAborted()
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(COMMAND_TIMEOUT_MS)])
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    HOME: '/nonexistent',
  }
  const child = spawn(file, args, { cwd: options.cwd, env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (out.length < MAX_OUTPUT_BYTES) out += text
    for (const line of text.split('\n')) if (line) options.onLine?.(line)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err = (err + text).slice(-4000)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject)
  child.on('close', resolve)
  const code = await promise.catch((cause) => {
    options.signal.throwIfAborted()
    const message = signal.aborted
      ? `${file} did not end in ${COMMAND_TIMEOUT_MS / 1000} s`
      : `${file}: ${cause.message}`
    throw new Fault('image/build-failed', 'permanent', { message }, { cause })
  })
  if (code === 0) return out
  throw new Fault('image/build-failed', 'transient', { message: `${file}: ${lastWords(err) || `exit code ${code}`}` })
}

function lastWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() && !line.startsWith('W: '))
  return lines.slice(-2).join(' ').slice(-300)
}
