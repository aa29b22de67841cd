import type { FaultData } from '../../../ipc/faults.ts'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import type { TaskKind } from '../tasks/task-context.ts'
import type { Actor } from './actor.ts'
import type { AuditStore } from './audit-store.ts'
import type { Database } from './database.ts'
import { endOf } from './task-end.ts'
import type { GoesOn, TaskRow, TaskState, TaskStepRow } from './task-row.ts'

interface Raw {
  id: string
  tenant: string
  kind: TaskKind
  subject: string
  state: TaskState
  steps: string
  fault: string | null
  result_id: string
  owner: string
  goes_on: string | null
  created_at: string
  ended_at: string | null
}

/** Ended tasks of a tenant kept for people to look back at. */
const KEEP_ENDED = 200

/** Of a task of an older version. */
const NOBODY: Actor = { user: '', client: 'eitri', requestId: '' }

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
  owner: { ...NOBODY, ...(JSON.parse(raw.owner) as Partial<Actor>) },
  goesOn: raw.goes_on === null ? null : (JSON.parse(raw.goes_on) as GoesOn),
  createdAt: new Date(raw.created_at),
  endedAt: raw.ended_at === null ? null : new Date(raw.ended_at),
})

/** Rows of tasks; the newest 200 ended ones of each tenant are kept. The end of one is an entry of the trail by itself. */
export class TasksStore {
  readonly #db: Database
  readonly #audit: AuditStore

  constructor(db: Database, audit: AuditStore) {
    this.#db = db
    this.#audit = audit
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

  /** Oldest first. */
  listUnended(): TaskRow[] {
    return this.#db.list<Raw>('SELECT * FROM tasks WHERE ended_at IS NULL ORDER BY created_at').map(fromRaw)
  }

  find(id: string): TaskRow | undefined {
    const raw = this.#db.find<Raw>('SELECT * FROM tasks WHERE id = $id', { id })
    return raw && fromRaw(raw)
  }

  save(task: TaskRow): void {
    this.#db.transaction(() => {
      if (task.endedAt && this.find(task.id)?.endedAt === null) this.#audit.add(...endOf(task))
      this.#db.run(
        `INSERT INTO tasks (id, tenant, kind, subject, state, steps, fault, result_id, owner, goes_on, created_at, ended_at)
         VALUES ($id, $tenant, $kind, $subject, $state, $steps, $fault, $resultId, $owner, $goesOn, $createdAt, $endedAt)
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, steps = excluded.steps, fault = excluded.fault,
           result_id = excluded.result_id, goes_on = excluded.goes_on, ended_at = excluded.ended_at`,
        {
          id: task.id,
          tenant: task.tenant,
          kind: task.kind,
          subject: task.subject,
          state: task.state,
          steps: JSON.stringify(task.steps),
          fault: task.fault ? JSON.stringify(task.fault) : null,
          resultId: task.resultId,
          owner: JSON.stringify(task.owner),
          goesOn: task.goesOn && JSON.stringify(task.goesOn),
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
