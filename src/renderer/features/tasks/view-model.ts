import { type FaultData, faultFromData } from '../../../ipc/faults.ts'
import type { Task, TaskStep } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { formatBytes, formatElapsed } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'

const TITLES: Record<string, (subject: string) => string> = {
  add_host: (s) => `Adding host ${s}`,
  remove_host: (s) => `Removing host ${s}`,
  build_image: (s) => `Building image ${s}`,
  push_image: (s) => `Sending image ${s}`,
  import_image: (s) => `Importing image ${s}`,
  add_image: (s) => `Adding image ${s}`,
  sign_in: (s) => `Signing in to ${s}`,
}

export const taskTitle = (task: Task): string =>
  (TITLES[task.kind] ?? ((s: string) => `${task.kind} ${s}`))(task.subject)

/** What ends a task that asks. */
export const cancelWord = ({ kind }: Task): string => (kind === 'add_host' ? 'Cancel adding' : 'Cancel')

export const isOpen = (task: Task): boolean => task.state === 'running' || task.state === 'asking'

/** The step it is at: the running one, else the first that is not done. */
export const currentStep = (task: Task): TaskStep | undefined =>
  task.steps.find((s) => s.state === 'running') ?? task.steps.find((s) => s.state === 'waiting')

export const stepNumber = (task: Task): string => {
  const step = currentStep(task)
  return step ? `${task.steps.indexOf(step) + 1}/${task.steps.length}` : `${task.steps.length}/${task.steps.length}`
}

/** `Install agent 6/8 · 12.4 MB of 43 MB`: where it is, for one line. */
export function taskLine(task: Task): string {
  if (task.state === 'asking') return `needs an answer: ${currentStep(task)?.name ?? ''}`
  const step = currentStep(task)
  if (!step) return ''
  return [`${step.name} ${stepNumber(task)}`, step.detail, stepBytes(step)].filter(Boolean).join(' · ')
}

export function stepBytes(step: TaskStep): string | undefined {
  if (step.doneBytes === 0n && step.totalBytes === undefined) return undefined
  const total = step.totalBytes
  return `${formatBytes(step.doneBytes)}${total === undefined ? '' : ` of ${formatBytes(total)}`}`
}

/** Undefined while it moves no bytes or how many there are is not known. */
export function stepFraction(step: TaskStep): number | undefined {
  if (step.totalBytes === undefined || step.totalBytes === 0n) return undefined
  return Math.min(0.99, Number(step.doneBytes) / Number(step.totalBytes))
}

/** How long it took, or has taken so far; empty for a step that has not begun. */
export function stepElapsed(step: TaskStep, nowMs: number): string {
  const from = msOf(step.startedAt)
  if (from === undefined) return ''
  return formatElapsed((msOf(step.endedAt) ?? nowMs) - from)
}

export function taskFault(task: Task): FaultData | undefined {
  return task.fault ? faultFromData(task.fault).toData() : undefined
}

/** How the sign-in went so far, for who is asked for a secret: what was said before the question. */
export function triedSoFar(task: Task): string[] {
  const step = task.steps.find(({ name, state }) => name === 'Sign in' && state === 'running')
  return step ? step.log.slice(-MAX_TRIED) : []
}

const MAX_TRIED = 4
