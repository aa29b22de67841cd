import { spawn } from 'node:child_process'
import { Fault } from '../../../ipc/faults.ts'

const MAX_OUTPUT_BYTES = 16 << 20
const MAX_ERROR_CHARS = 8_000
const COMMAND_TIMEOUT_MS = 300_000
/** From a polite end to a forced one. */
const END_GRACE_MS = 10_000

export interface CommandOptions {
  cwd?: string
  signal: AbortSignal
  /** Called with each line of output, of both streams, while it runs. */
  onLine?: (line: string) => void
  timeoutMs?: number
  /** Added to a bare environment. */
  env?: Record<string, string>
}

/**
 * Runs a program of this computer without a shell; its stdout. It has ended, and all it started with it, before this
 * settles. Raises image/build-failed with the telling words of its stderr, or the abort's reason.
 */
export async function command(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  options.signal.throwIfAborted()
  const timeoutMs = options.timeoutMs ?? COMMAND_TIMEOUT_MS
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)])
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    HOME: '/nonexistent',
    ...options.env,
  }
  const child = spawn(file, args, { cwd: options.cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  const lines = (text: string) => {
    for (const line of text.split('\n')) if (line) options.onLine?.(line)
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (out.length < MAX_OUTPUT_BYTES) out += text
    lines(text)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err = (err + text).slice(-MAX_ERROR_CHARS)
    lines(text)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject)
  child.on('close', resolve)
  const noLongerEnding = endOnAbort(child.pid, signal)
  const code = await promise
    .catch((cause) => {
      throw new Fault('image/build-failed', 'permanent', { message: `${file}: ${cause.message}` }, { cause })
    })
    .finally(noLongerEnding)
  options.signal.throwIfAborted()
  if (code === 0) return out
  const message = signal.aborted
    ? `${file} did not end in ${timeoutMs / 1000} s`
    : `${file}: ${tellingWords(err) || `exit code ${code}`}`
  throw new Fault('image/build-failed', 'transient', { message })
}

/** Ends the whole process group; answers how to stop watching. */
function endOnAbort(pid: number | undefined, signal: AbortSignal): () => void {
  const send = (name: NodeJS.Signals) => {
    try {
      if (pid !== undefined) process.kill(-pid, name)
    } catch {}
  }
  let force: NodeJS.Timeout | undefined
  const end = () => {
    send('SIGTERM')
    force = setTimeout(() => send('SIGKILL'), END_GRACE_MS)
  }
  signal.addEventListener('abort', end, { once: true })
  return () => {
    clearTimeout(force)
    signal.removeEventListener('abort', end)
  }
}

/** What apt, dpkg and mmdebstrap mark as an error, else the last words. Pure. */
export function tellingWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() && !/^[WI]: /.test(line))
  const errors = lines.filter((line) => /^E: |^dpkg: error/.test(line))
  return (errors.length > 0 ? errors.slice(0, 2) : lines.slice(-2)).join(' ').slice(0, 300)
}
