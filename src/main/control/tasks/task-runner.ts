import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import type { TaskRow, TasksStore } from '../store/tasks-store.ts'
import { RunningTask } from './running-task.ts'
import type { Answer, TaskKind, TaskRun, TaskStarter } from './task-context.ts'

const MAX_RUNNING = 64
/** Bytes shown at most this often per task, ms. */
const PROGRESS_MS = 200

/** Runs tasks and keeps their rows. Answers are never kept. */
export class TaskRunner implements TaskStarter {
  readonly #store: TasksStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Map<string, { task: RunningTask; ended: Promise<Fault | undefined> }>()
  readonly #listeners = new Set<(taskId: string) => void>()

  constructor(store: TasksStore, clock: Clock, log: Log) {
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  /** Ends what a former process left unfinished as `task/interrupted`. */
  recover(): void {
    for (const row of this.#store.listUnended()) {
      const fault = new Fault('task/interrupted', 'permanent', { subject: row.subject }).toData()
      try {
        this.#store.save({ ...row, state: 'failed', fault, endedAt: new Date(this.#clock.now()) })
      } catch (error) {
        this.#log.error('task.not-saved', { task: row.id, message: asFault(error).message })
      }
    }
  }

  /** `tenant` = whose it is; `system` = everybody's. Raises input/too-large when too many tasks run already. */
  start(tenant: string, kind: TaskKind, subject: string, run: TaskRun): string {
    if (this.#running.size >= MAX_RUNNING) {
      throw new Fault('input/too-large', 'transient', { detail: `${MAX_RUNNING} tasks are running already` })
    }
    const row: TaskRow = {
      id: randomBytes(16).toString('hex'),
      tenant,
      kind,
      subject,
      state: 'running',
      steps: [],
      question: null,
      fault: null,
      resultId: '',
      createdAt: new Date(this.#clock.now()),
      endedAt: null,
    }
    this.#store.save(row)
    const task = new RunningTask(row, this.#clock, {
      save: (next) => this.#store.save(next),
      shown: () => this.#tell(row.id),
      progressMs: PROGRESS_MS,
    })
    this.#running.set(row.id, { task, ended: Promise.resolve().then(() => this.#run(task, run)) })
    return row.id
  }

  async ended(taskId: string): Promise<Fault | undefined> {
    const running = this.#running.get(taskId)
    if (running) return running.ended
    const fault = this.#find(taskId)?.fault
    return fault ? new Fault(fault.code, fault.disposition, fault.params, { id: fault.id }) : undefined
  }

  /** The tenant's and everybody's, newest first. */
  list(tenant: string): TaskRow[] {
    return this.#store.list(tenant).map((row) => this.#running.get(row.id)?.task.row ?? row)
  }

  /** One of another tenant is none. */
  find(tenant: string, taskId: string): TaskRow | undefined {
    const row = this.#find(taskId)
    return row?.tenant === tenant || row?.tenant === SYSTEM_TENANT ? row : undefined
  }

  /** Raises task/not-found, for one of another tenant too. */
  get(tenant: string, taskId: string): TaskRow {
    const row = this.find(tenant, taskId)
    if (!row) throw new Fault('task/not-found', 'permanent', { task: taskId })
    return row
  }

  /** Raises task/wrong-question when the task does not ask that now. */
  answer(tenant: string, taskId: string, questionId: string, answer: Answer): TaskRow {
    this.get(tenant, taskId)
    const running = this.#running.get(taskId)
    if (!running?.task.answer(questionId, answer)) {
      throw new Fault('task/wrong-question', 'permanent', { task: taskId, question: questionId })
    }
    return this.get(tenant, taskId)
  }

  /** Asks the task to stop and undo; idempotent, answers before it has ended. */
  cancel(tenant: string, taskId: string): TaskRow {
    this.get(tenant, taskId)
    this.#running.get(taskId)?.task.cancel()
    return this.get(tenant, taskId)
  }

  /** Called when what is shown of a task changed without its row being written; returns its stop function. */
  onShown(listener: (taskId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Cancels all and waits for their ends, `graceMs` at most. */
  async stop(graceMs: number): Promise<void> {
    const all = [...this.#running.values()]
    for (const { task } of all) task.cancel()
    const late = new AbortController()
    await Promise.race([
      Promise.all(all.map(({ ended }) => ended)),
      this.#clock.sleep(graceMs, late.signal).catch(() => {}),
    ])
    late.abort()
  }

  async #run(task: RunningTask, run: TaskRun): Promise<Fault | undefined> {
    let fault: Fault | undefined
    try {
      task.signal.throwIfAborted()
      const { resultId } = await run(task)
      task.end('done', { resultId })
    } catch (error) {
      fault = asFault(error)
      const cancelled = task.signal.aborted || fault.disposition === 'cancelled'
      if (fault.disposition === 'bug') {
        this.#log.error('task.bug', {
          task: task.id,
          message: fault.message,
          stack: String(fault.cause ?? fault.stack),
        })
      }
      this.#end(task, cancelled, fault)
    } finally {
      this.#running.delete(task.id)
    }
    return fault
  }

  #end(task: RunningTask, cancelled: boolean, fault: Fault): void {
    try {
      if (cancelled) task.end('cancelled', {})
      else task.end('failed', { fault: fault.toData() })
    } catch (error) {
      this.#log.error('task.not-saved', { task: task.id, message: asFault(error).message })
    }
  }

  #find(taskId: string): TaskRow | undefined {
    return this.#running.get(taskId)?.task.row ?? this.#store.find(taskId)
  }

  #tell(taskId: string): void {
    for (const listener of this.#listeners) listener(taskId)
  }
}
