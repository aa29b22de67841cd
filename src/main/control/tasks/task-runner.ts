import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault, type FaultData } from '../../../ipc/faults.ts'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { actingAs, currentActor } from '../store/actor.ts'
import type { TaskRow } from '../store/task-row.ts'
import type { TasksStore } from '../store/tasks-store.ts'
import { RunningTask } from './running-task.ts'
import type { Answer, TaskAgain, TaskInput, TaskKind, TaskRun, TaskStarter } from './task-context.ts'

const MAX_RUNNING = 64
/** Bytes shown at most this often per task, ms. */
const PROGRESS_MS = 200

/** Runs tasks and keeps their rows. Answers are never kept. */
export class TaskRunner implements TaskStarter {
  readonly #store: TasksStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Map<string, { task: RunningTask; ended: Promise<Fault | undefined> }>()
  readonly #adopted = new Map<string, RunningTask>()
  /** Cancelled by who asked for it, which a stop is not. */
  readonly #byPerson = new Set<string>()
  #again: Partial<Record<TaskKind, TaskAgain>> = {}
  #stopping = false
  readonly #listeners = new Set<(taskId: string) => void>()

  constructor(store: TasksStore, clock: Clock, log: Log) {
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  /** How tasks of these kinds are run again in the next process. Said before `recover`; adds to what was said. */
  goOnWith(again: Partial<Record<TaskKind, TaskAgain>>): void {
    this.#again = { ...this.#again, ...again }
  }

  /** What a former process left unfinished goes on where it can; the rest ends as `task/interrupted`. */
  recover(): void {
    for (const row of this.#store.listUnended()) {
      if (row.goesOn?.how === 'watched') continue
      const again = row.goesOn?.how === 'again' ? this.#again[row.kind] : undefined
      if (row.goesOn?.how === 'again' && again) {
        const { input } = row.goesOn
        this.#launch({ ...row, state: 'running', question: null }, async (task) => again(input, row.tenant)(task))
      } else this.#interrupt(row)
    }
  }

  #interrupt(row: TaskRow): void {
    try {
      this.#store.save({ ...row, ...interrupted(row), endedAt: new Date(this.#clock.now()) })
    } catch (error) {
      this.#log.error('task.not-saved', { task: row.id, message: asFault(error).message })
    }
  }

  /** A task that others carry out, shown until it is released. */
  adopt(row: TaskRow): RunningTask {
    const task = this.#taskOf(row)
    this.#adopted.set(row.id, task)
    return task
  }

  /** From now on its row alone is shown. */
  release(taskId: string): void {
    this.#adopted.delete(taskId)
  }

  /**
   * `tenant` = whose it is; `system` = everybody's. With `input` it goes on in the next process. Raises input/too-large when
   * too many tasks run already.
   */
  start(tenant: string, kind: TaskKind, subject: string, run: TaskRun, input?: TaskInput): string {
    if (this.#running.size >= MAX_RUNNING) {
      throw new Fault('input/too-large', 'transient', { detail: `${MAX_RUNNING} tasks are running already` })
    }
    const goesOn = input === undefined ? null : { how: 'again' as const, input }
    const row = newTask({
      tenant,
      kind,
      subject,
      owner: currentActor(),
      goesOn,
      createdAt: new Date(this.#clock.now()),
    })
    this.#store.save(row)
    this.#launch(row, run)
    return row.id
  }

  #launch(row: TaskRow, run: TaskRun): void {
    const task = this.#taskOf(row)
    const ended = Promise.resolve().then(() => actingAs({ ...row.owner, taskId: row.id }, () => this.#run(task, run)))
    this.#running.set(row.id, { task, ended })
  }

  #taskOf(row: TaskRow): RunningTask {
    return new RunningTask(row, this.#clock, {
      save: (next) => this.#store.save(next),
      shown: () => this.#tell(row.id),
      progressMs: PROGRESS_MS,
    })
  }

  async ended(taskId: string): Promise<Fault | undefined> {
    const running = this.#running.get(taskId)
    if (running) return running.ended
    const fault = this.#find(taskId)?.fault
    return fault ? new Fault(fault.code, fault.disposition, fault.params, { id: fault.id }) : undefined
  }

  /** The tenant's and everybody's, newest first. */
  list(tenant: string): TaskRow[] {
    return this.#store.list(tenant).map((row) => this.#live(row.id)?.row ?? row)
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

  /** Asks the task to stop and undo; idempotent, answers before it has ended. Raises task/not-cancelled for one its host carries out. */
  cancel(tenant: string, taskId: string): TaskRow {
    const { goesOn, endedAt, subject } = this.get(tenant, taskId)
    if (goesOn?.how === 'watched' && endedAt === null)
      throw new Fault('task/not-cancelled', 'permanent', { vm: subject })
    if (this.#running.has(taskId)) this.#byPerson.add(taskId)
    this.#running.get(taskId)?.task.cancel()
    return this.get(tenant, taskId)
  }

  /** Called when what is shown of a task changed without its row being written; returns its stop function. */
  onShown(listener: (taskId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops all and waits, `graceMs` at most. What goes on in the next process keeps its row as it is; the rest is interrupted. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
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
      this.#byPerson.delete(task.id)
    }
    return fault
  }

  #end(task: RunningTask, cancelled: boolean, fault: Fault): void {
    const wasStopped = this.#stopping && !this.#byPerson.has(task.id)
    if (cancelled && wasStopped && task.row.goesOn) return
    try {
      if (cancelled && wasStopped) task.end('failed', interrupted(task.row))
      else if (cancelled) task.end('cancelled', {})
      else task.end('failed', { fault: fault.toData() })
    } catch (error) {
      this.#log.error('task.not-saved', { task: task.id, message: asFault(error).message })
    }
  }

  #find(taskId: string): TaskRow | undefined {
    return this.#live(taskId)?.row ?? this.#store.find(taskId)
  }

  #live(taskId: string): RunningTask | undefined {
    return this.#running.get(taskId)?.task ?? this.#adopted.get(taskId)
  }

  #tell(taskId: string): void {
    for (const listener of this.#listeners) listener(taskId)
  }
}

type NewTask = Pick<TaskRow, 'tenant' | 'kind' | 'subject' | 'owner' | 'goesOn' | 'createdAt'> & { resultId?: string }

/** A row of a task that begins now. */
export const newTask = (task: NewTask): TaskRow => ({
  ...{ state: 'running', steps: [], question: null, fault: null, endedAt: null, resultId: '' },
  ...task,
  id: randomBytes(16).toString('hex'),
})

/** Where it was cut short, so that people know what is done and what is not. */
function interrupted({ kind, subject, steps }: TaskRow): { state: 'failed'; fault: FaultData } {
  const step = steps.find(({ state }) => state === 'running') ?? steps.find(({ state }) => state === 'failed')
  const params = { kind, subject, ...(step ? { step: step.name } : {}) }
  return { state: 'failed', fault: new Fault('task/interrupted', 'permanent', params).toData() }
}
