import { lookup } from '../../../ipc/base/lookup.ts'
import { type FaultData, faultFromData } from '../../../ipc/faults.ts'
import type { Task, TaskStep } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { formatBytes, formatElapsed } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'

const TITLES: Record<string, (subject: string) => string> = {
  add_host: (s) => `Adding host ${s}`,
  remove_host: (s) => `Removing host ${s}`,
  build_image: (s) => `Building image ${s}`,
  push_image: (s) => `Sending image ${s}`,
  import_image: (s) => `Importing image ${s}`,
  add_image: (s) => `Adding image ${s}`,
  sign_in: (s) => `Signing in to ${s}`,
  upgrade_host: (s) => `Upgrading the agent of ${s}`,
  create_vm: (s) => `Creating VM ${s}`,
  clone_vm: (s) => `Cloning VM ${s}`,
  start_vm: (s) => `Starting ${s}`,
  stop_vm: (s) => `Stopping ${s}`,
  restart_vm: (s) => `Restarting ${s}`,
  update_vm: (s) => `Changing ${s}`,
  delete_vm: (s) => `Deleting ${s}`,
  undelete_vm: (s) => `Bringing back ${s}`,
  purge_vm: (s) => `Destroying ${s}`,
}

export const titleOf = (kind: string, subject: string): string =>
  (lookup(TITLES, kind) ?? ((s: string) => `${kind} ${s}`))(subject)

export const taskTitle = (task: Task): string => titleOf(task.kind, task.subject)

/** What a host carries out goes on whatever is cancelled here. */
export const mayCancel = (task: Task): boolean => isOpen(task) && task.vmId === ''

/** VMs whose progress a task tells. */
export const vmsOfTasks = (tasks: Iterable<Task>): ReadonlySet<string> =>
  new Set([...tasks].filter((task) => isOpen(task) && task.vmId !== '').map((task) => task.vmId))

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

/** The page on which what failed is begun again; undefined = there is none. */
export function againHref({ id, kind, vmId }: Task): string | undefined {
  if (vmId !== '') return hrefOf({ page: 'vm', id: vmId, tab: 'overview' })
  if (kind === 'add_host') return hrefOf({ page: 'add-host', taskId: id })
  if (kind === 'remove_host' || kind === 'sign_in' || kind === 'upgrade_host')
    return hrefOf({ page: 'hosts', filter: '' })
  return kind.endsWith('_image') ? hrefOf({ page: 'images', filter: '' }) : undefined
}
