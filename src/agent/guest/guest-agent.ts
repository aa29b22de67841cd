import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import { MiB } from '../../ipc/units.ts'

/** Most that is read of a guest for one answer, bytes. */
const ANSWER_LIMIT = MiB
/** Lines read for one answer: one is a guest agent's, some are left of a boot before. */
const LINE_LIMIT = 1_000
/** Callers waiting for their turn with one guest. */
const QUEUE_LIMIT = 16
const ANSWER_MS = 5_000
/** A program in the guest may run this long. */
const EXEC_MS = 20_000
const EXEC_POLL_MS = 200
/** Before the question which marks where answers begin, and before its own answer: no byte of UTF-8. */
const MARK = 0xff
/** A guest agent counts in int64, and so does a report: what lies beyond is no time. */
const LATEST_NS = 2 ** 63

/** `silent`: nothing answers in time; `refused`: the guest agent answered with an error; `broken`: no guest agent says that. */
export type GuestTrouble = 'silent' | 'refused' | 'broken'

/** What kept a guest agent from doing what it was asked. The message is a clause for people. */
export class GuestAgentError extends Error {
  override readonly name = 'GuestAgentError'
  readonly trouble: GuestTrouble

  constructor(trouble: GuestTrouble, message: string) {
    super(message)
    this.trouble = trouble
  }
}

export interface GuestAgentOptions {
  /** Rejects when the VM has no such channel. */
  connect(): Promise<Duplex>
  clock?: Clock
  answerMs?: number
  execMs?: number
}

/** What a program in the guest left. */
export interface GuestExec {
  /** Absent = ended by a signal. */
  code: number | undefined
  stdout: string
  stderr: string
}

const Answer = z.looseObject({
  return: z.unknown().optional(),
  error: z.looseObject({ class: z.string().optional(), desc: z.string() }).optional(),
})
const ExecStatus = z.looseObject({
  exited: z.boolean(),
  exitcode: z.number().optional(),
  'out-data': z.string().optional(),
  'err-data': z.string().optional(),
})
const Info = z.looseObject({ version: z.string() })

interface Link {
  stream: Duplex
  /** Takes what comes; undefined = nobody asked. */
  reader: ((bytes: Buffer) => void) | undefined
  lost: Promise<never>
}

/**
 * The guest agent of one guest. One command at a time; a command that got no answer ends the connection, and each
 * new one begins with a mark, so that no late or stray answer is taken for another. Whoever made it closes it.
 */
export class GuestAgent {
  readonly #options: GuestAgentOptions
  readonly #clock: Clock
  readonly #answerMs: number
  #link: Link | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #syncs = 0
  #closed = false

  constructor(options: GuestAgentOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#answerMs = options.answerMs ?? ANSWER_MS
  }

  /** The answer's `return`. Raises GuestAgentError, or the signal's reason. */
  execute(command: string, args?: object, signal?: AbortSignal): Promise<unknown> {
    if (this.#waiting >= QUEUE_LIMIT) return Promise.reject(new GuestAgentError('silent', 'too much is asked of it'))
    this.#waiting++
    const answer = this.#turn.then(() => this.#execute(command, args, signal)).finally(() => this.#waiting--)
    this.#turn = answer.catch(() => {})
    return answer
  }

  /** The guest's wall clock, ns since the epoch. */
  async time(signal?: AbortSignal): Promise<number> {
    const ns = await this.execute('guest-get-time', undefined, signal)
    if (typeof ns !== 'number' || !(Math.abs(ns) < LATEST_NS)) throw broken('a time that is none')
    return ns
  }

  async version(signal?: AbortSignal): Promise<string> {
    const info = Info.safeParse(await this.execute('guest-info', undefined, signal))
    return info.success ? info.data.version.slice(0, 64) : ''
  }

  /** Runs a program found on the guest's own PATH, without a shell, and waits for its end. */
  exec(path: string, arg: readonly string[], signal?: AbortSignal): Promise<GuestExec> {
    return this.#run({ path, arg }, signal)
  }

  /** Has the guest's own shell run a script. */
  script(text: string, signal?: AbortSignal): Promise<GuestExec> {
    const input = Buffer.from(text).toString('base64')
    return this.#run({ path: 'sh', arg: ['-s'], 'input-data': input }, signal)
  }

  async #run(program: { path: string; arg: readonly string[]; 'input-data'?: string }, signal?: AbortSignal) {
    const { path } = program
    const deadline = this.#clock.monotonic() + (this.#options.execMs ?? EXEC_MS)
    const started = await this.execute('guest-exec', { ...program, 'capture-output': true }, signal)
    const pid = z.looseObject({ pid: z.number() }).safeParse(started)
    if (!pid.success) throw broken('a program without a pid')
    for (;;) {
      const status = ExecStatus.safeParse(await this.execute('guest-exec-status', { pid: pid.data.pid }, signal))
      if (!status.success) throw broken('a state of a program that is none')
      const { exited, exitcode, 'out-data': out = '', 'err-data': err = '' } = status.data
      if (exited) return { code: exitcode, stdout: textOf(out), stderr: textOf(err) }
      if (this.#clock.monotonic() > deadline) throw new GuestAgentError('silent', `${path} does not end in the guest`)
      await this.#clock.sleep(EXEC_POLL_MS, signal)
    }
  }

  /** What is under way fails; nothing can be asked any more. */
  close(): void {
    this.#closed = true
    this.#hangUp()
  }

  async #execute(command: string, args: object | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted()
    if (this.#closed) throw new GuestAgentError('silent', 'its channel is closed')
    try {
      const link = await this.#linked(signal)
      const line = `${JSON.stringify({ execute: command, ...(args ? { arguments: args } : {}) })}\n`
      const answer = await this.#ask(link, Buffer.from(line), command, undefined, signal)
      if (answer.error) throw new GuestAgentError('refused', answer.error.desc.slice(0, 300))
      return answer.return
    } catch (error) {
      if (!(error instanceof GuestAgentError && error.trouble === 'refused')) this.#hangUp()
      throw error
    }
  }

  async #linked(signal: AbortSignal | undefined): Promise<Link> {
    if (this.#link) return this.#link
    const stream = await this.#options.connect().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      throw new GuestAgentError('silent', `the VM has no channel to a guest agent (${why.slice(0, 200)})`)
    })
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => {})
    const link: Link = { stream, reader: undefined, lost: lost.promise }
    // Kept for later, what comes unasked would pass for the next answer.
    stream.on('data', (bytes: Buffer) => (link.reader ? link.reader(bytes) : stream.destroy()))
    stream.on('error', () => {})
    stream.on('close', () => {
      if (this.#link === link) this.#link = undefined
      lost.reject(new GuestAgentError('silent', 'its channel closed'))
    })
    this.#link = link
    if (this.#closed) this.#hangUp()
    const id = ++this.#syncs + Math.floor(Math.random() * 1e6) * 1000
    const line = `${JSON.stringify({ execute: 'guest-sync-delimited', arguments: { id } })}\n`
    await this.#ask(link, Buffer.concat([Buffer.of(MARK), Buffer.from(line)]), 'the greeting', id, signal)
    return link
  }

  /** The first whole answer; with `mark` the one that has it, and all before it is dropped. */
  async #ask(
    link: Link,
    line: Buffer,
    what: string,
    mark: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<z.infer<typeof Answer>> {
    const found = Promise.withResolvers<z.infer<typeof Answer>>()
    const answers = new AnswerReader(mark, found.resolve)
    link.reader = (bytes) => {
      if (!answers.take(bytes)) found.reject(broken('more than an answer is long'))
    }
    const stop = () => found.reject(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    const timer = setTimeout(
      () => found.reject(new GuestAgentError('silent', `no answer to ${what} within ${this.#answerMs / 1000} s`)),
      this.#answerMs,
    )
    try {
      link.stream.write(line)
      return await Promise.race([found.promise, link.lost])
    } finally {
      link.reader = undefined
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  #hangUp(): void {
    this.#link?.stream.destroy()
    this.#link = undefined
  }
}

/** Cuts what a guest sends into answers; lines that are none are passed over, as a guest that reboots leaves them. */
class AnswerReader {
  readonly #mark: number | undefined
  readonly #found: (answer: z.infer<typeof Answer>) => void
  #held: Buffer[] = []
  #bytes = 0
  #lines = 0

  constructor(mark: number | undefined, found: (answer: z.infer<typeof Answer>) => void) {
    this.#mark = mark
    this.#found = found
  }

  /** False = it sent more than anybody reads. */
  take(bytes: Buffer): boolean {
    this.#bytes += bytes.length
    this.#held.push(bytes)
    if (!bytes.includes(0x0a)) return this.#bytes <= ANSWER_LIMIT
    let all = Buffer.concat(this.#held)
    for (let end = all.indexOf(0x0a); end >= 0; end = all.indexOf(0x0a)) {
      if (++this.#lines > LINE_LIMIT) return false
      this.#line(all.subarray(0, end))
      all = all.subarray(end + 1)
    }
    this.#held = [all]
    return this.#bytes <= ANSWER_LIMIT
  }

  #line(line: Buffer): void {
    const at = line.lastIndexOf(MARK)
    if (this.#mark !== undefined && at < 0) return
    const answer = answerIn(line.subarray(at + 1).toString('utf8'))
    if (answer && (this.#mark === undefined || answer.return === this.#mark)) this.#found(answer)
  }
}

function answerIn(text: string): z.infer<typeof Answer> | undefined {
  try {
    const { data } = Answer.safeParse(JSON.parse(text))
    return data && ('return' in data || data.error) ? data : undefined
  } catch {
    return undefined
  }
}

const broken = (what: string) => new GuestAgentError('broken', `it sent ${what}`)
const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8')
