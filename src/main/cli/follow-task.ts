import { printable } from '../../ipc/fault-text.ts'
import { faultFromMessage } from '../../ipc/fault-wire.ts'
import { Fault } from '../../ipc/faults.ts'
import type { Task, TaskQuestion, TaskStep } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext } from './context.ts'
import { answerTo } from './task-answers.ts'
import { watchFleet } from './watch-fleet.ts'

/** Tells the steps of a task as they go, answers what it asks, and returns it when it is done; raises its fault otherwise. */
export async function followTask(context: CommandContext, fleet: FleetClient, first: Task): Promise<Task> {
  const told = new Map<string, string>()
  const unanswered = new AbortController()
  const signal = AbortSignal.any([context.signal, unanswered.signal])
  const person = personAt(context, fleet, first.id, (error) => unanswered.abort(error))
  try {
    for await (const { tasks } of watchFleet(fleet, signal)) {
      const task = tasks.get(first.id)
      if (!task) continue
      tell(context, told, task)
      if (task.state === 'done') return task
      if (task.state === 'failed')
        throw task.fault
          ? faultFromMessage(task.fault)
          : new Fault('app/bug', 'bug', { message: 'failed without a fault' })
      if (task.state === 'cancelled') throw new Fault('app/cancelled', 'cancelled')
      person.hear(task.question)
    }
    throw new Fault('app/not-running', 'transient')
  } catch (error) {
    if (!timedOut(context.signal)) await cancel(fleet, first.id)
    throw unanswered.signal.aborted && !context.signal.aborted ? unanswered.signal.reason : error
  } finally {
    person.hear(undefined)
  }
}

/** Asks the person one question at a time; one that is asked no more is left, as a host that did not wait. */
function personAt(context: CommandContext, fleet: FleetClient, taskId: string, failed: (error: unknown) => void) {
  const answered = new Set<string>()
  let now: { id: string; left: AbortController } | undefined
  /** One at the terminal at a time: the next begins when the one before has let go of it. */
  let turn = Promise.resolve()
  const ask = async (question: TaskQuestion, left: AbortSignal) => {
    const signal = AbortSignal.any([context.signal, left])
    try {
      const { keep = '', ...answer } = await answerTo({ io: context.io, signal }, question)
      await fleet.tasks.answerTask({ taskId, questionId: question.id, answer, keep }, { signal })
    } catch (error) {
      if (!left.aborted) failed(error)
    }
  }
  return {
    hear(question: TaskQuestion | undefined) {
      if (now?.id === question?.id) return
      now?.left.abort()
      now = undefined
      if (!question || answered.has(question.id)) return
      answered.add(question.id)
      const left = new AbortController()
      now = { id: question.id, left }
      turn = turn.then(() => ask(question, left.signal))
    },
  }
}

/** A task outlives a wait that was only too short; anything else that ends the follower ends the task. */
const timedOut = (signal: AbortSignal) => signal.reason instanceof Fault && signal.reason.code === 'app/timeout'

async function cancel(fleet: FleetClient, id: string): Promise<void> {
  // The control plane may be gone; the fault that ended the follower is the one to tell.
  await fleet.tasks.cancelTask({ id }, { timeoutMs: 5_000 }).catch(() => {})
}

function tell({ io, json }: CommandContext, told: Map<string, string>, task: Task): void {
  if (json && !io.stderr.isTTY) return
  for (const step of task.steps) {
    const line = lineOf(step)
    if (step.state === 'waiting' || told.get(step.name) === line) continue
    told.set(step.name, line)
    io.stderr.write(`${line}\n`)
  }
}

function lineOf(step: TaskStep): string {
  const words = { running: '…', done: ' done', failed: ' failed', skipped: ' skipped' }[step.state] ?? ` ${step.state}`
  const detail = step.detail ? ` (${printable(step.detail)})` : ''
  return `${step.name}${words}${step.state === 'running' ? '' : detail}`
}
