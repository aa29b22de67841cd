import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { exclusively, startTimeOf } from './exclusive.ts'
import { rememberFolder } from './host-slots.ts'
import { type ProgramResult, runProgram } from './run-program.ts'

export const REPO = path.resolve(import.meta.dirname, '../..')
/** Packages the tiny image is built from, downloaded once for all tests. */
const PACKAGES = path.join(REPO, 'out/test-packages')
const START_TIMEOUT_MS = 20_000
const STOP_TIMEOUT_MS = 10_000
const CLI_TIMEOUT_MS = 60_000
const BUILD_TIMEOUT_MS = 150_000
const LOG_TAIL_BYTES = 8192

export interface CliResult extends ProgramResult {
  /** The JSON document of stdout; undefined when it has none. */
  json: any
}

export interface CliOptions {
  input?: string
  timeoutMs?: number
  /** Leaves out --json. */
  plain?: boolean
}

interface ReadyLine {
  pid: number
  api_socket: string
  url?: string
}

/** One control plane with a data folder, a home and ssh files of its own, and the command line that talks to it. */
export class Desktop implements AsyncDisposable {
  readonly home: string
  readonly dataDir: string
  readonly env: NodeJS.ProcessEnv
  readonly #dir: string
  readonly #forget: () => void
  readonly #listen: string
  #child: ChildProcess | undefined
  #ready: ReadyLine | undefined

  /** Makes the folders only; `start` starts the control plane. */
  constructor(options: { listen?: 'unix' | '127.0.0.1:0' } = {}) {
    this.#dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-desk-'))
    this.#forget = rememberFolder(this.#dir)
    this.#listen = options.listen ?? 'unix'
    this.home = path.join(this.#dir, 'home')
    this.dataDir = path.join(this.#dir, 'data')
    const runtime = path.join(this.#dir, 'run')
    for (const dir of [this.home, runtime, path.join(this.home, '.ssh')]) fs.mkdirSync(dir, { mode: 0o700 })
    fs.mkdirSync(PACKAGES, { recursive: true })
    fs.mkdirSync(path.join(this.dataDir, 'cache'), { recursive: true, mode: 0o700 })
    fs.symlinkSync(PACKAGES, path.join(this.dataDir, 'cache/packages'))
    const { PATH, LANG, TERM } = process.env
    const places = { HOME: this.home, XDG_RUNTIME_DIR: runtime, TMPDIR: this.#dir }
    // Its agent leaves the network of this machine alone.
    this.env = { PATH, LANG, TERM, ...places, EITRI_TEST: '1', EITRI_GUEST_NETWORK: 'user' }
  }

  get pid(): number {
    return this.#mustBeReady().pid
  }

  get apiSocket(): string {
    return this.#mustBeReady().api_socket
  }

  /** Address of the browser shell with a token that works once. */
  get url(): string {
    const { url } = this.#mustBeReady()
    if (url === undefined) throw new Error('this control plane has no loopback listener')
    return url
  }

  async start(): Promise<this> {
    const args = [path.join(REPO, 'dist/main/serve.mjs'), '--data-dir', this.dataDir, '--listen', this.#listen]
    const log = fs.openSync(this.logFile, 'a')
    // The control plane must not outlive a test that crashes.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', process.execPath, ...args, '--ready-json'], {
      env: this.env,
      cwd: this.#dir,
      stdio: ['ignore', 'pipe', log],
    })
    fs.closeSync(log)
    this.#child = child
    this.#ready = await this.#readyLine(child)
    return this
  }

  async #readyLine(child: ChildProcess): Promise<ReadyLine> {
    const lines = createInterface({ input: child.stdout! })
    const signal = AbortSignal.timeout(START_TIMEOUT_MS)
    try {
      const ended = once(child, 'exit', { signal }).then(() => '')
      const line = await Promise.race([once(lines, 'line', { signal }).then(([l]) => String(l)), ended])
      return JSON.parse(line) as ReadyLine
    } catch (cause) {
      child.kill('SIGKILL')
      throw new Error(`the control plane did not get ready: ${this.logTail()}`, { cause })
    } finally {
      lines.close()
      child.stdout!.resume()
    }
  }

  get logFile(): string {
    return path.join(this.#dir, 'serve.log')
  }

  /** The end of what the control plane said, on stderr and in its own logs. */
  logTail(): string {
    const own = fs.readdirSync(this.dataDir, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.log'))
    return [this.logFile, ...own.map((f) => path.join(this.dataDir, f))]
      .filter((file) => fs.existsSync(file))
      .map((file) => fs.readFileSync(file, 'utf8').slice(-LOG_TAIL_BYTES))
      .join('\n')
  }

  /** Ends it with a signal and waits; SIGTERM that is not heeded in time throws. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    this.#ready = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await gone
    clearTimeout(late)
    if (signal === 'SIGTERM' && child.signalCode === 'SIGKILL') throw new Error(`SIGTERM unheeded: ${this.logTail()}`)
  }

  /** Runs the command line against this control plane. Any exit code is a result. */
  async cli(args: string[], options: CliOptions = {}): Promise<CliResult> {
    const global = ['--data-dir', this.dataDir, ...(options.plain ? [] : ['--json'])]
    const program = path.join(REPO, 'dist/main/cli.mjs')
    const result = await runProgram(process.execPath, [program, ...global, ...args], {
      env: this.env,
      cwd: this.#dir,
      timeoutMs: options.timeoutMs ?? CLI_TIMEOUT_MS,
      ...(options.input === undefined ? {} : { input: options.input }),
    })
    return { ...result, json: parsed(result.stdout) }
  }

  /** cli that throws unless it exits with 0; gives its JSON. */
  async must(args: string[], options: CliOptions = {}): Promise<any> {
    const result = await this.cli(args, options)
    if (result.code === 0) return options.plain ? result.stdout : result.json
    const how = result.timedOut ? 'timed out' : `exited with ${result.code}`
    throw new Error(`eitri ${args.join(' ')} ${how}: ${result.stderr}\n${this.logTail()}`)
  }

  /** `image build-tiny`, one at a time: the downloaded packages are shared. Answers the image. */
  buildTiny(): Promise<any> {
    return exclusively(`${PACKAGES}.lock`, () => this.must(['image', 'build-tiny'], { timeoutMs: BUILD_TIMEOUT_MS }))
  }

  /** Stops the control plane and what it started on this side, and removes the folders. */
  async close(): Promise<void> {
    await this.stop().catch(() => {})
    await endProcessesUnder(this.#dir)
    fs.rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 })
    this.#forget()
  }

  /** Files of this side, logs and databases included, that contain a text. */
  filesWith(text: string): string[] {
    const files = fs.readdirSync(this.#dir, { recursive: true, encoding: 'utf8' }).map((f) => path.join(this.#dir, f))
    return files.filter((f) => fs.lstatSync(f).isFile() && fs.readFileSync(f).includes(text))
  }

  /** Processes whose command line or directory lies in these folders. */
  processes(): { pid: number; startTime: string; argv: string[] }[] {
    return processesUnder(this.#dir)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #mustBeReady(): ReadyLine {
    if (!this.#ready) throw new Error('the control plane does not run')
    return this.#ready
  }
}

/** Ends every process whose command line or directory lies in a folder a test made. */
export async function endProcessesUnder(dir: string): Promise<void> {
  const deadline = Date.now() + STOP_TIMEOUT_MS
  for (let left = processesUnder(dir); left.length > 0; left = processesUnder(dir)) {
    if (Date.now() > deadline) throw new Error(`still there: ${left.map((p) => p.argv.join(' ')).join('; ')}`)
    for (const { pid, startTime } of left) if (startTimeOf(pid) === startTime) kill(pid)
    await delay(20)
  }
}

function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

function processesUnder(dir: string) {
  const pids = fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  return pids.flatMap((entry) => processUnder(dir, Number(entry)))
}

function processUnder(dir: string, pid: number) {
  try {
    const argv = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    const startTime = startTimeOf(pid)
    const inside = argv.some((a) => a.includes(dir)) || fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(dir)
    return inside && pid !== process.pid && startTime !== undefined ? [{ pid, startTime, argv }] : []
  } catch {
    return []
  }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
