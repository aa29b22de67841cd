import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault, type FaultData } from '../../../ipc/faults.ts'
import type { TaskRow, TaskStepRow } from '../store/task-row.ts'
import type { Answer, Question, StepContext, TaskContext } from './task-context.ts'

const MAX_STEPS = 50
const DETAIL_CHARS = 400
/** Lines of a step's log; the oldest go first. */
const MAX_LOG = 50
const MAX_CHECKS = 20
const SCRIPT_CHARS = 8_000

export interface TaskSink {
  save(row: TaskRow): void
  /** What is shown changed, the stored row did not. */
  shown(): void
  progressMs: number
}

/** A step of a task that others carry out. */
export type FollowedStep = Pick<TaskStepRow, 'name' | 'state' | 'detail' | 'doneBytes' | 'totalBytes'>

/** One task while it runs: its row in memory, written at each step's start and end. */
export class RunningTask implements TaskContext {
  readonly #clock: Clock
  readonly #sink: TaskSink
  readonly #abort = new AbortController()
  #row: TaskRow
  #waiting: { id: string; resolve(answer: Answer): void } | undefined
  #shownAt = Number.NEGATIVE_INFINITY

  constructor(row: TaskRow, clock: Clock, sink: TaskSink) {
    this.#row = row
    this.#clock = clock
    this.#sink = sink
  }

  get id(): string {
    return this.#row.id
  }

  get row(): TaskRow {
    return this.#row
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  plan(steps: string[]): void {
    this.#save({ steps: steps.slice(0, MAX_STEPS).map(waiting) })
  }

  async step<T>(name: string, run: (step: StepContext) => Promise<T>): Promise<T> {
    this.signal.throwIfAborted()
    this.#setStep(name, { state: 'running', startedAt: this.#nowText(), endedAt: null })
    try {
      const result = await run({
        detail: (text) => this.#say(name, text.slice(0, DETAIL_CHARS)),
        progress: (done, total) => this.#show(name, { doneBytes: done, totalBytes: total ?? null }, done === total),
        checks: (checks) => this.#show(name, { checks: checks.slice(0, MAX_CHECKS) }, true),
        shows: ({ facts, script }) =>
          this.#show(name, { facts: facts.slice(0, MAX_CHECKS), script: script.slice(0, SCRIPT_CHARS) }, true),
      })
      this.#setStep(name, { state: 'done', endedAt: this.#nowText() })
      return result
    } catch (error) {
      this.#setStep(name, { state: 'failed', endedAt: this.#nowText() })
      throw error
    }
  }

  skip(name: string, detail: string): void {
    this.#setStep(name, { state: 'skipped', detail: detail.slice(0, DETAIL_CHARS), endedAt: this.#nowText() })
  }

  async ask(question: Question, withdrawn?: AbortSignal): Promise<Answer> {
    const until = withdrawn ? AbortSignal.any([this.signal, withdrawn]) : this.signal
    until.throwIfAborted()
    if (this.#waiting) throw new Fault('app/bug', 'bug', { message: 'a task asks one question at a time' })
    const id = randomBytes(8).toString('hex')
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const stop = () => reject(until.reason)
    until.addEventListener('abort', stop, { once: true })
    this.#waiting = { id, resolve }
    this.#save({ state: 'asking', question: { id, ask: question } })
    try {
      return await promise
    } finally {
      until.removeEventListener('abort', stop)
      this.#waiting = undefined
      this.#save({ state: 'running', question: null })
    }
  }

  /** False when this is not the question asked now. */
  answer(questionId: string, answer: Answer): boolean {
    if (this.#waiting?.id !== questionId) return false
    this.#row = { ...this.#row, state: 'running', question: null }
    this.#waiting.resolve(answer)
    this.#waiting = undefined
    return true
  }

  /** Steps as they are seen from outside; written when one began or ended, else shown. */
  follow(steps: readonly FollowedStep[]): void {
    const now = this.#nowText()
    const next = steps.map((step) => {
      const known = this.#row.steps.find(({ name }) => name === step.name) ?? waiting(step.name)
      const began = step.state === 'waiting' ? null : (known.startedAt ?? now)
      const ended = step.state === 'done' || step.state === 'failed' ? (known.endedAt ?? now) : null
      return { ...known, ...step, detail: step.detail.slice(0, DETAIL_CHARS), startedAt: began, endedAt: ended }
    })
    const states = (all: readonly TaskStepRow[]) => all.map(({ name, state }) => `${name} ${state}`).join()
    if (states(next) !== states(this.#row.steps)) {
      this.#save({ steps: next })
      return
    }
    if (JSON.stringify(next) === JSON.stringify(this.#row.steps)) return
    this.#row = { ...this.#row, steps: next }
    const at = this.#clock.monotonic()
    if (at - this.#shownAt < this.#sink.progressMs) return
    this.#shownAt = at
    this.#sink.shown()
  }

  cancel(): void {
    this.#abort.abort(new Fault('app/cancelled', 'cancelled'))
  }

  end(
    state: 'done' | 'failed' | 'cancelled',
    outcome: { resultId?: string; fault?: FaultData; goesOn?: TaskRow['goesOn'] },
  ): void {
    // What another act took the place of did not fail.
    const left = state === 'cancelled' && this.#row.goesOn?.how === 'watched' ? 'skipped' : 'failed'
    const steps = this.#row.steps.map((step) => (step.state === 'running' ? ({ ...step, state: left } as const) : step))
    const endedAt = new Date(this.#clock.now())
    this.#save({
      state,
      steps,
      question: null,
      endedAt,
      resultId: outcome.resultId ?? '',
      fault: outcome.fault ?? null,
      ...(outcome.goesOn === undefined ? {} : { goesOn: outcome.goesOn }),
    })
  }

  #say(name: string, detail: string): void {
    const log = this.#row.steps.find((step) => step.name === name)?.log ?? []
    const said = log.at(-1) === detail ? log : [...log, detail].slice(-MAX_LOG)
    this.#show(name, { detail, log: said }, true)
  }

  #setStep(name: string, change: Partial<TaskStepRow>): void {
    this.#save({ steps: this.#stepsWith(name, change) })
  }

  #show(name: string, change: Partial<TaskStepRow>, now: boolean): void {
    this.#row = { ...this.#row, steps: this.#stepsWith(name, change) }
    const at = this.#clock.monotonic()
    if (!now && at - this.#shownAt < this.#sink.progressMs) return
    this.#shownAt = at
    this.#sink.shown()
  }

  #stepsWith(name: string, change: Partial<TaskStepRow>): TaskStepRow[] {
    const { steps } = this.#row
    if (steps.some((step) => step.name === name)) {
      return steps.map((step) => (step.name === name ? { ...step, ...change } : step))
    }
    if (steps.length >= MAX_STEPS) throw new Fault('app/bug', 'bug', { message: `more than ${MAX_STEPS} steps` })
    return [...steps, { ...waiting(name), ...change }]
  }

  #save(change: Partial<TaskRow>): void {
    this.#row = { ...this.#row, ...change }
    this.#sink.save(this.#row)
  }

  #nowText(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

const waiting = (name: string): TaskStepRow => ({
  name,
  state: 'waiting',
  detail: '',
  startedAt: null,
  endedAt: null,
  doneBytes: 0,
  totalBytes: null,
})
