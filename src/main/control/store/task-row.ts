import type { FaultData } from '../../../ipc/faults.ts'
import type { Question, StepCheck, StepFact, TaskKind, VmAct } from '../tasks/task-context.ts'
import type { Actor } from './actor.ts'

export type TaskState = 'running' | 'asking' | 'done' | 'failed' | 'cancelled'

export interface TaskStepRow {
  name: string
  state: 'waiting' | 'running' | 'done' | 'failed' | 'skipped'
  detail: string
  /** ISO 8601; null = not yet. */
  startedAt: string | null
  endedAt: string | null
  doneBytes: number
  /** Null = not known. */
  totalBytes: number | null
  /** Oldest first. Absent here and below = a task of an older version, or nothing was said. */
  log?: string[]
  checks?: readonly StepCheck[]
  facts?: readonly StepFact[]
  script?: string
}

/** How a task goes on in the next process. */
export type GoesOn =
  /** Its host carries it out; what is reported tells how far it is. */
  | { how: 'watched'; watch: VmWatch }
  /** It is run again, with these inputs; never secrets. */
  | { how: 'again'; input: Record<string, string> }

/** What the host of a VM is to bring about, and how to see that it did. */
export interface VmWatch {
  act: VmAct
  vmId: string
  hostId: string
  /** Of the host, as it was with the act: an agent that has seen it was told. */
  epoch: number
  /** How the VM stood when it was asked: its last start, and what was wrong with it. Empty = unknown, or nothing. */
  before: { startedAt: string; trouble: string }
  /** The act that came after it. Absent = none did. */
  endedBy?: VmAct
}

export interface TaskRow {
  id: string
  /** `system` = everybody's, as images are. */
  tenant: string
  kind: TaskKind
  subject: string
  state: TaskState
  steps: TaskStepRow[]
  /** Only while asking; not kept across a restart. */
  question: { id: string; ask: Question } | null
  fault: FaultData | null
  resultId: string
  /** Who asked for it. */
  owner: Actor
  /** Null = it ends with the process that runs it. */
  goesOn: GoesOn | null
  createdAt: Date
  endedAt: Date | null
}

/** How a task ended, for people; a watched one whose place another act took is neither done nor failed. */
export const outcomeOf = ({ state, goesOn }: Pick<TaskRow, 'state' | 'goesOn'>): TaskState | 'superseded' =>
  state === 'cancelled' && goesOn?.how === 'watched' && goesOn.watch.endedBy !== undefined ? 'superseded' : state
