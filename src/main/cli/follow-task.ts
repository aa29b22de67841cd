import { printable } from '../../ipc/fault-text.ts'
import { faultFromMessage } from '../../ipc/fault-wire.ts'
import { Fault } from '../../ipc/faults.ts'
import type { Task, TaskQuestion, TaskStep } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext } from './context.ts'
import { askLine, confirm, interactive } from './prompts.ts'
import { watchFleet } from './watch-fleet.ts'

/** Tells the steps of a task as they go, answers what it asks, and returns it when it is done; raises its fault otherwise. */
export async function followTask(context: CommandContext, fleet: FleetClient, first: Task): Promise<Task> {
  const told = new Map<string, string>()
  const answered = new Set<string>()
  try {
    for await (const { tasks } of watchFleet(fleet, context.signal)) {
      const task = tasks.get(first.id)
      if (!task) continue
      tell(context, told, task)
      if (task.state === 'done') return task
      if (task.state === 'failed')
        throw task.fault
          ? faultFromMessage(task.fault)
          : new Fault('app/bug', 'bug', { message: 'failed without a fault' })
      if (task.state === 'cancelled') throw new Fault('app/cancelled', 'cancelled')
      const { question } = task
      if (!question || answered.has(question.id)) continue
      answered.add(question.id)
      const answer = await answerTo(context, question)
      await fleet.tasks.answerTask({ taskId: task.id, questionId: question.id, answer }, { signal: context.signal })
    }
    throw new Fault('app/not-running', 'transient')
  } catch (error) {
    if (!timedOut(context.signal)) await cancel(fleet, first.id)
    throw error
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

type Answer =
  | { case: 'acceptFingerprint'; value: string }
  | { case: 'secret'; value: string }
  | { case: 'agree'; value: boolean }

async function answerTo(context: CommandContext, { kind }: TaskQuestion): Promise<Answer> {
  const { io, signal } = context
  const asked = interactive(io)
  const agreed = async (words: string, otherwise: Fault): Promise<boolean> => {
    if (asked && (await confirm(io, words, signal))) return true
    throw otherwise
  }
  switch (kind.case) {
    case 'hostKey': {
      const { host, keyType, fingerprint, knownFingerprint } = kind.value
      const params = { host, fingerprint, ...(knownFingerprint === undefined ? {} : { known: knownFingerprint }) }
      const refused = new Fault(
        knownFingerprint === undefined ? 'ssh/host-key-unknown' : 'ssh/host-key-changed',
        'permanent',
        params,
      )
      const words =
        knownFingerprint === undefined
          ? `${host} shows a new ${keyType} host key ${fingerprint}. Trust it?`
          : `The host key of ${host} CHANGED from ${knownFingerprint} to ${fingerprint}. Trust the new one?`
      await agreed(words, refused)
      return { case: 'acceptFingerprint', value: fingerprint }
    }
    case 'secret': {
      const { what, of, problem } = kind.value
      if (!asked) throw missingSecret(what, of, problem)
      const words =
        { password: 'Password for', passphrase: 'Passphrase of', sudo_password: 'sudo password for' }[what] ?? what
      return {
        case: 'secret',
        value: await askLine(io, `${problem ? `${problem} ` : ''}${words} ${of}:`, signal, true),
      }
    }
    case 'packages': {
      const { missing, command } = kind.value
      const params = { missing: missing.join(', '), command }
      await agreed(
        `The host lacks ${params.missing}. Run "${command}" there?`,
        new Fault('host/packages-missing', 'permanent', params),
      )
      return { case: 'agree', value: true }
    }
    case 'takeOver': {
      const controller = kind.value.controllerName
      await agreed(
        `The host is held by another control plane (${controller}). Take it over?`,
        new Fault('agent/foreign-controller', 'permanent', { controller }),
      )
      return { case: 'agree', value: true }
    }
    default:
      throw new Fault('app/bug', 'bug', { message: 'the task asks something this program does not know' })
  }
}

function missingSecret(what: string, of: string, problem: string): Fault {
  if (what === 'passphrase') return new Fault('ssh/passphrase-wrong', 'permanent', { file: of })
  if (what === 'sudo_password')
    return new Fault('ssh/sudo-refused', 'permanent', { host: of, detail: problem || 'it wants a password' })
  return new Fault('ssh/auth-refused', 'permanent', { address: of })
}
