import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync } from 'node:fs'
import { around, type Failpoint, hit, type TwoStepPoint } from './failpoints.ts'
import { openLogNow } from './files.ts'

/** Longest stdout and stderr kept of a command unless it asks for more, bytes each; the rest is dropped. */
const OUTPUT_LIMIT = 256 * 1024

export interface RunOptions {
  signal?: AbortSignal
  /** The command is killed after this long, ms. */
  timeoutMs: number
  cwd?: string
  /** Longest stdout and stderr kept, bytes each; absent = 256 KiB. */
  outputBytes?: number
}

export interface RunResult {
  /** null = ended by a signal. */
  code: number | null
  stdout: string
  stderr: string
  timedOut: boolean
}

/** Runs a program without a shell. Rejects when it cannot be started (ENOENT) or the signal aborts; else resolves. */
export type Run = (
  point: TwoStepPoint,
  command: string,
  args: readonly string[],
  options: RunOptions,
) => Promise<RunResult>

/** After its end a program's last output may take this long, ms: one that it left behind may hold the pipes for ever. */
const LAST_OUTPUT_MS = 1_000

const C_LOCALE = { LC_ALL: 'C' }

export const run: Run = (point, command, args, options) => around(point, () => runNow(point, command, args, options))

const runNow = (
  point: TwoStepPoint,
  command: string,
  args: readonly string[],
  { signal, timeoutMs, cwd, outputBytes = OUTPUT_LIMIT }: RunOptions,
): Promise<RunResult> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    // In a group of its own, so that what it started ends with it.
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...C_LOCALE },
      ...(cwd === undefined ? {} : { cwd }),
    })
    child.once('spawn', () => hit(point, 'between'))
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      killGroup(child)
    }, timeoutMs)
    const abort = () => killGroup(child)
    signal?.addEventListener('abort', abort, { once: true })
    let lastOutput: NodeJS.Timeout | undefined
    const done = () => {
      clearTimeout(timer)
      clearTimeout(lastOutput)
      signal?.removeEventListener('abort', abort)
    }
    const out = collect(child.stdout, outputBytes)
    const err = collect(child.stderr, outputBytes)
    child.once('error', (error) => {
      done()
      reject(error)
    })
    child.once('exit', () => {
      lastOutput = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, LAST_OUTPUT_MS)
    })
    child.once('close', (code) => {
      done()
      if (signal?.aborted) reject(signal.reason)
      else resolve({ code, stdout: out(), stderr: err(), timedOut })
    })
  })

/** Only while its leader is known to run: later the number may be another's. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

function collect(stream: NodeJS.ReadableStream, limit: number): () => string {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    if (size >= limit) return
    chunks.push(chunk.subarray(0, limit - size))
    size += chunk.length
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

export interface DetachOptions {
  cwd: string
  /** stdout and stderr are appended to this file: a pipe would die with the agent. */
  logFile: string
  /** What an earlier program said in it stays; absent = it is truncated first. */
  keepLog?: boolean
  /** Called at its end, while this agent still runs; exactly one of them is null. */
  onEnd?: (code: number | null, signal: NodeJS.Signals | null) => void
}

/** Starts a program that outlives the agent, in its own session; resolves with its pid once it runs. */
export type Detach = (
  point: Failpoint,
  command: string,
  args: readonly string[],
  options: DetachOptions,
) => Promise<number>

export const detach: Detach = (point, command, args, options) => around(point, () => detachNow(command, args, options))

const detachNow = (
  command: string,
  args: readonly string[],
  { cwd, logFile, keepLog = false, onEnd }: DetachOptions,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const fd = openLogNow(logFile, !keepLog)
    try {
      const child = spawn(command, args, {
        cwd,
        detached: true,
        stdio: ['ignore', fd, fd],
        env: { ...process.env, ...C_LOCALE },
      })
      child.once('error', reject)
      child.once('spawn', () => resolve(child.pid!))
      if (onEnd) child.once('exit', onEnd)
      child.unref()
    } finally {
      closeSync(fd)
    }
  })

/** A program that only looks may take this long, ms: the whole agent waits for it. */
const LOOK_MS = 5_000

/** What a look may print: the command lines of all processes, some hundred bytes each. */
const LOOK_BYTES = 8 * 1024 * 1024

/** What a program that only looks printed. Blocks, for hosts where a look at a process is a program. */
export type Look = (command: string, args: readonly string[]) => { code: number; stdout: string }

/** Throws when the program cannot be started or does not end: that is no answer. Times it prints are in UTC. */
export const look: Look = (command, args) => {
  const { error, status, signal, stdout } = spawnSync(command, args, {
    env: { ...process.env, ...C_LOCALE, TZ: 'UTC0' },
    timeout: LOOK_MS,
    maxBuffer: LOOK_BYTES,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (error) throw error
  if (status === null) throw new Error(`${command} was ended by ${signal}`)
  return { code: status, stdout: stdout.toString('utf8') }
}
