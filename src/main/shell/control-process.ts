import { createInterface } from 'node:readline'
import { z } from 'zod'
import { fullJitterMs } from '../../ipc/base/backoff.ts'

/** A forked process as Electron's utility process is one. */
export interface Forked {
  readonly stdout: NodeJS.ReadableStream | null
  readonly stderr: NodeJS.ReadableStream | null
  on(event: 'exit', listener: (code: number) => void): unknown
  kill(): boolean
}

const Ready = z.object({ ready: z.literal(true), attached: z.boolean(), pid: z.number(), api_socket: z.string() })
/** How long an orderly stop may take before the app quits anyway, ms. */
const STOP_MS = 6_000
/** Last words of a process that failed, characters. */
const WORDS = 2_000

/** Keeps a control plane at hand: forks one, or uses the one that runs; one that ends by itself is started again. */
export class ControlProcess {
  readonly #fork: () => Forked
  readonly #onReady: () => void
  readonly #onFailed: (words: string) => void
  #child: Forked | undefined
  #gone: Promise<void> = Promise.resolve()
  #stopping = false
  #attempt = 0
  #retry: NodeJS.Timeout | undefined
  #socketPath: string | undefined

  constructor(parts: { fork(): Forked; onReady(): void; onFailed(words: string): void }) {
    this.#fork = parts.fork
    this.#onReady = parts.onReady
    this.#onFailed = parts.onFailed
  }

  /** Undefined until the first one is ready. */
  get socketPath(): string | undefined {
    return this.#socketPath
  }

  /** The one that was attached to is gone: another is started. Nothing while one forked here runs or is about to. */
  lost(): void {
    if (!this.#child && !this.#stopping && !this.#retry) this.start()
  }

  start(): void {
    this.#retry = undefined
    const child = this.#fork()
    let attached = false
    let words = ''
    this.#child = child
    child.stderr?.on('data', (chunk) => {
      words = (words + String(chunk)).slice(-WORDS)
    })
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = readyIn(line)
        if (!ready) return
        attached = ready.attached
        this.#attempt = 0
        const first = this.#socketPath === undefined
        this.#socketPath = ready.api_socket
        if (first) this.#onReady()
      })
    const gone = Promise.withResolvers<void>()
    this.#gone = gone.promise
    child.on('exit', () => {
      this.#child = undefined
      gone.resolve()
      // Attached: the other control plane goes on, this process has done its work.
      if (this.#stopping || attached) return
      if (this.#socketPath === undefined) this.#onFailed(words.trim())
      else this.#retry = setTimeout(() => this.start(), fullJitterMs(this.#attempt++))
    })
  }

  /** Stops the one forked here and waits for its end, at most 6 s; VMs go on. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#retry)
    if (!this.#child) return
    this.#child.kill()
    let late: NodeJS.Timeout | undefined
    await Promise.race([this.#gone, new Promise((resolve) => (late = setTimeout(resolve, STOP_MS)))])
    clearTimeout(late)
  }
}

function readyIn(line: string): z.infer<typeof Ready> | undefined {
  try {
    return Ready.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}
