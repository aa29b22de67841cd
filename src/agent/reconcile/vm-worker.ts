import type { Clock } from '../../ipc/base/clock.ts'
import { Fault } from '../../ipc/faults.ts'

/** What one pass may use of its worker. */
export interface Pass<R> {
  /** Aborts at the pass's deadline, when a newer assignment makes the pass pointless, and when the agent stops. */
  signal: AbortSignal
  /** Aborts when a newer assignment wants things done by force. */
  hurry: AbortSignal
  /** An interim result; dropped once the pass is over. */
  publish(result: R): void
  /** Long work went on by itself: its deadline begins anew. */
  goesOn(): void
}

export interface WorkerOptions<A, R> {
  /** Resolves with the result, or undefined to let the last one stand. */
  run(assignment: A, pass: Pass<R>): Promise<R | undefined>
  /** Whether a newer assignment ends a pass on an older one. */
  supersedes(newer: A, current: A): boolean
  /** Whether an assignment makes a running pass hurry. */
  hurries(newer: A): boolean
  /** A result landed. */
  onResult(result: R): void
  /** Nothing is left to do. */
  onIdle(): void
  /** A pass threw: a bug, not an outcome. */
  onCrash(error: unknown): void
  clock: Clock
  /** Longest a pass may take without word that it goes on, ms; 0 = no watchdog. */
  passTimeoutMs: number
  /** What stands until the first pass says something. */
  initial?: R
}

const SUPERSEDED = new Fault('app/cancelled', 'cancelled', { message: 'a newer assignment took over' })
const STOPPED = new Fault('app/cancelled', 'cancelled', { message: 'the agent is stopping' })

const timedOut = (ms: number) =>
  new Fault('app/timeout', 'transient', { timeout: ms < 60_000 ? `${ms / 1000} s` : `${ms / 60_000} min` })

interface Running<A> {
  assignment: A
  cancel: AbortController
  hurry: AbortController
}

/** All work on one VM, one pass at a time. An assignment that comes meanwhile replaces the one waiting. */
export class VmWorker<A, R> {
  readonly #options: WorkerOptions<A, R>
  #pending: { assignment: A } | undefined
  #running: Running<A> | undefined
  #loop: Promise<void> | undefined
  #result: R | undefined
  #stopped = false

  constructor(options: WorkerOptions<A, R>) {
    this.#options = options
    this.#result = options.initial
  }

  /** Never blocks. */
  deliver(assignment: A): void {
    if (this.#stopped) return
    this.#pending = { assignment }
    const running = this.#running
    if (running && this.#options.hurries(assignment)) running.hurry.abort(SUPERSEDED)
    if (running && this.#options.supersedes(assignment, running.assignment)) running.cancel.abort(SUPERSEDED)
    this.#loop ??= this.#work()
  }

  get idle(): boolean {
    return this.#loop === undefined
  }

  /** Resolves when the work under way, and what came meanwhile, is done. */
  async done(): Promise<void> {
    await this.#loop
  }

  /** The newest result, interim ones included; undefined before the first. */
  get result(): R | undefined {
    return this.#result
  }

  /** Takes no more assignments, aborts the pass under way and resolves when it ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#pending = undefined
    this.#running?.cancel.abort(STOPPED)
    await this.#loop
  }

  async #work(): Promise<void> {
    for (let next = this.#pending; next; next = this.#pending) {
      this.#pending = undefined
      await this.#pass(next.assignment)
    }
    // In the same step as the last look at #pending: an assignment delivered later must find no loop.
    this.#loop = undefined
    this.#options.onIdle()
  }

  async #pass(assignment: A): Promise<void> {
    const { run, clock, passTimeoutMs, onCrash } = this.#options
    const running: Running<A> = { assignment, cancel: new AbortController(), hurry: new AbortController() }
    this.#running = running
    let over = new AbortController()
    const goesOn = () => {
      over.abort()
      over = new AbortController()
      if (passTimeoutMs === 0 || this.#running !== running) return
      clock.sleep(passTimeoutMs, over.signal).then(
        () => running.cancel.abort(timedOut(passTimeoutMs)),
        () => {},
      )
    }
    goesOn()
    const publish = (result: R) => {
      if (this.#running === running) this.#land(result)
    }
    try {
      const { cancel, hurry } = running
      const result = await run(assignment, { signal: cancel.signal, hurry: hurry.signal, publish, goesOn })
      if (result !== undefined) this.#land(result)
    } catch (error) {
      onCrash(error)
    } finally {
      this.#running = undefined
      over.abort()
    }
  }

  #land(result: R): void {
    this.#result = result
    this.#options.onResult(result)
  }
}
