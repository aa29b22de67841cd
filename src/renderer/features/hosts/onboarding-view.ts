import type { Task, TaskStep } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'

/** What a step does, said before it runs. */
export const STEP_TEXT: readonly (readonly [name: string, text: string])[] = [
  ['Read config', 'what ssh itself would use for this name'],
  ['Reach address', 'a TCP connection, nothing more'],
  ['Check host key', 'you see it and accept it, or it is known'],
  ['Sign in', 'ssh-agent, key, passphrase, password or code'],
  ['Look at host', 'system, virtualisation, disk, programs; changes nothing'],
  ['Install agent', 'one file, checked by its SHA-256'],
  ['Start agent', 'as a service where there is one'],
  ['First report', 'the host says who it is and what it has'],
]

/** A log is open by itself where it is needed: of the step that failed. */
export const showsLog = (step: TaskStep): boolean => step.state === 'failed'

/** The step that failed, for the sentence over the way back. */
export const failedStep = (task: Task): TaskStep | undefined => task.steps.find(({ state }) => state === 'failed')

/** What stays on the host after a task that did not succeed: nothing, and since which step there could have been. */
export function leftWords(task: Task): string {
  const installed = task.steps.some(({ name, state }) => name === 'Install agent' && state !== 'waiting')
  if (!installed) return 'Nothing was put on the host.'
  return 'What was put on the host was taken away again.'
}

/** The fingerprint a person accepted in this task; empty = none was. A new try with it asks only when the key is another. */
export function acceptedKey(task: Task): string {
  const said = task.steps.find(({ name }) => name === 'Check host key')?.detail ?? ''
  return /(SHA256:[A-Za-z0-9+/]+), accepted by you$/.exec(said)?.[1] ?? ''
}
