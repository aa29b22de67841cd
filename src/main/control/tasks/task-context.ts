import type { Fault } from '../../../ipc/faults.ts'

/** What a host carries out of a VM. */
export const VM_ACTS = ['create', 'clone', 'start', 'stop', 'restart', 'update', 'delete', 'undelete', 'purge'] as const
export type VmAct = (typeof VM_ACTS)[number]

export type TaskKind =
  | `${VmAct}_vm`
  | 'add_host'
  | 'remove_host'
  | 'sign_in'
  | 'build_image'
  | 'push_image'
  | 'import_image'
  | 'add_image'
  | 'upgrade_host'

/** What a task may ask a person; mirrors TaskQuestion. */
export type Question =
  | {
      kind: 'host_key'
      host: string
      keyType: string
      fingerprint: string
      known?: { fingerprint: string; since?: Date }
    }
  | { kind: 'secret'; what: 'password' | 'passphrase' | 'sudo_password'; of: string; problem: string }
  | { kind: 'prompt'; of: string; instruction: string; prompt: string; echo: boolean; problem: string }
  | { kind: 'packages'; missing: string[]; command: string }
  | { kind: 'take_over'; controllerName: string }

/** `fingerprint` answers host_key, `secret` answers secret and prompt, `agree` the others. */
export interface Answer {
  fingerprint?: string
  secret?: string
  agree?: boolean
  /** Where a secret stays. Absent = as said when the task was started. */
  keep?: Keep
}

/** Where secrets of a host stay: until the process ends, or in the system's keychain too. */
export type Keep = 'memory' | 'keychain'

export interface StepContext {
  /** Shown beside the step while it runs and after it. */
  detail(text: string): void
  /** Bytes; total absent = unknown. Coalesced: cheap to call often. */
  progress(done: number, total?: number): void
  /** What it looked at; replaces what it said of it before. */
  checks(checks: readonly StepCheck[]): void
  /** What it puts where, and the text of what it runs; replaces what it said of it before. */
  shows(shown: { facts: readonly StepFact[]; script: string }): void
}

/** One line of what a step looked at. */
export interface StepCheck {
  name: string
  /** `note`: it goes on, with less. */
  state: 'ok' | 'note' | 'failed'
  detail: string
  /** What mends it, in a shell on the host. Empty = nothing that could be said. */
  command: string
}

export interface StepFact {
  name: string
  value: string
}

/** What a running task sees. A task that throws is `failed` with that fault; an abort makes it `cancelled`. */
export interface TaskContext {
  readonly id: string
  readonly signal: AbortSignal
  /** Names every step ahead, so that people see how far it is. */
  plan(steps: string[]): void
  /** Runs one planned step; its failure fails the step and is thrown on. */
  step<T>(name: string, run: (step: StepContext) => Promise<T>): Promise<T>
  skip(name: string, detail: string): void
  /** Waits for a person; rejects when the task is cancelled or the question withdrawn. One question at a time. */
  ask(question: Question, withdrawn?: AbortSignal): Promise<Answer>
}

export interface TaskOutcome {
  resultId: string
}

export type TaskRun = (task: TaskContext) => Promise<TaskOutcome>

/** What a task needs to be run again; never secrets. */
export type TaskInput = Record<string, string>

/** Makes the work of a task of a former process anew. Raises what is wrong with its inputs now. */
export type TaskAgain = (input: TaskInput, tenant: string) => TaskRun

/** Starts tasks; each is a row in the store, and goes on in the next process where it was given its input. */
export interface TaskStarter {
  start(tenant: string, kind: TaskKind, subject: string, run: TaskRun, input?: TaskInput): string
  /** Resolves when it ended; with its fault unless done. */
  ended(taskId: string): Promise<Fault | undefined>
}
