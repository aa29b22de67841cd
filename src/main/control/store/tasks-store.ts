import type { FaultData } from '../../../ipc/faults.ts'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import type { Question, StepCheck, StepFact, TaskKind } from '../tasks/task-context.ts'
import type { Database } from './database.ts'

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
  createdAt: Date
  endedAt: Date | null
}

interface Raw {
  id: string
  tenant: string
  kind: TaskKind
  subject: string
  state: TaskState
  steps: string
  fault: string | null
  result_id: string
  created_at: string
  ended_at: string | null
}

/** Ended tasks of a tenant kept for people to look back at. */
const KEEP_ENDED = 200

const fromRaw = (raw: Raw): TaskRow => ({
  id: raw.id,
  tenant: raw.tenant,
  kind: raw.kind,
  subject: raw.subject,
  state: raw.state,
  steps: JSON.parse(raw.steps) as TaskStepRow[],
  question: null,
  fault: raw.fault === null ? null : (JSON.parse(raw.fault) as FaultData),
  resultId: raw.result_id,
  createdAt: new Date(raw.created_at),
  endedAt: raw.ended_at === null ? null : new Date(raw.ended_at),
})

/** Rows of tasks; the newest 200 ended ones of each tenant are kept. */
export class TasksStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Its own and everybody's, newest first. */
  list(tenant: string): TaskRow[] {
    return this.#db
      .list<Raw>('SELECT * FROM tasks WHERE tenant IN ($tenant, $shared) ORDER BY created_at DESC, id', {
        tenant,
        shared: SYSTEM_TENANT,
      })
      .map(fromRaw)
  }

  listUnended(): TaskRow[] {
    return this.#db.list<Raw>('SELECT * FROM tasks WHERE ended_at IS NULL').map(fromRaw)
  }

  find(id: string): TaskRow | undefined {
    const raw = this.#db.find<Raw>('SELECT * FROM tasks WHERE id = $id', { id })
    return raw && fromRaw(raw)
  }

  save(task: TaskRow): void {
    this.#db.transaction(() => {
      this.#db.run(
        `INSERT INTO tasks (id, tenant, kind, subject, state, steps, fault, result_id, created_at, ended_at)
         VALUES ($id, $tenant, $kind, $subject, $state, $steps, $fault, $resultId, $createdAt, $endedAt)
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, steps = excluded.steps, fault = excluded.fault,
           result_id = excluded.result_id, ended_at = excluded.ended_at`,
        {
          id: task.id,
          tenant: task.tenant,
          kind: task.kind,
          subject: task.subject,
          state: task.state,
          steps: JSON.stringify(task.steps),
          fault: task.fault ? JSON.stringify(task.fault) : null,
          resultId: task.resultId,
          createdAt: task.createdAt.toISOString(),
          endedAt: task.endedAt?.toISOString() ?? null,
        },
      )
      if (task.endedAt) this.#prune(task.tenant)
      this.#db.changed('task', task.id)
    })
  }

  #prune(tenant: string): void {
    const gone = this.#db.list<{ id: string }>(
      `DELETE FROM tasks WHERE tenant = $tenant AND ended_at IS NOT NULL AND id NOT IN
         (SELECT id FROM tasks WHERE tenant = $tenant AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ${KEEP_ENDED})
       RETURNING id`,
      { tenant },
    )
    for (const { id } of gone) this.#db.changed('task', id)
  }
}
