import type { Actor } from './actor.ts'
import type { AuditEvent } from './audit-store.ts'
import { outcomeOf, type TaskRow } from './task-row.ts'

/** The action of the entry that says how a task ended. */
export const TASK_END = 'task.end'

/** What the trail keeps of a task beyond its row. */
export interface KeptEnd {
  steps: { name: string; state: string; ms: number | null }[]
  fault: TaskRow['fault']
}

/** The entry of a task's end, in the name of whoever asked for the task. */
export function endOf(task: TaskRow): [AuditEvent, Actor] {
  const watch = task.goesOn?.how === 'watched' ? task.goesOn.watch : undefined
  const tookMs = Math.max(0, (task.endedAt?.getTime() ?? 0) - task.createdAt.getTime())
  const kept: KeptEnd = {
    steps: task.steps.map(({ name, state, startedAt, endedAt }) => ({
      name,
      state,
      ms: msBetween(startedAt, endedAt),
    })),
    fault: task.fault,
  }
  const event: AuditEvent = {
    action: TASK_END,
    tenant: task.tenant,
    taskId: task.id,
    result: outcomeOf(task),
    detail: { name: task.subject, kind: task.kind, took_ms: String(tookMs) },
    after: JSON.stringify(kept),
    ...(watch ? { vmId: watch.vmId, hostId: watch.hostId } : {}),
  }
  return [event, task.owner]
}

const msBetween = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from))
