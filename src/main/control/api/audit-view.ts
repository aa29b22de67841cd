import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { faultToMessage } from '../../../ipc/fault-wire.ts'
import { faultFromData } from '../../../ipc/faults.ts'
import { type AuditEntry, AuditEntrySchema } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { AuditRow, AuditStore } from '../store/audit-store.ts'
import { type KeptEnd, TASK_END } from '../store/task-end.ts'
import type { TasksStore } from '../store/tasks-store.ts'

interface EndsOf {
  audit: Pick<AuditStore, 'ends'>
  tasks: Pick<TasksStore, 'find'>
}

/** Entries as clients see them, each with how its task ended. One whose task is not here any more ended as nobody knows. */
export function entryViews(rows: readonly AuditRow[], { audit, tasks }: EndsOf): AuditEntry[] {
  const ids = [...new Set(rows.filter(isActOfTask).map(({ taskId }) => taskId))]
  const ends = ids.length === 0 ? new Map<string, AuditRow>() : audit.ends(ids)
  return rows.map((row) => {
    if (row.action === TASK_END) return entryView({ ...row, after: '' }, row)
    const end = ends.get(row.taskId)
    if (end) return entryView(row, end)
    const runs = isActOfTask(row) && tasks.find(row.taskId)?.endedAt === null
    return entryView(runs ? { ...row, result: 'running' } : row)
  })
}

const isActOfTask = ({ taskId, action }: AuditRow): boolean => taskId !== '' && action !== TASK_END

function entryView({ at, ...entry }: AuditRow, end?: AuditRow): AuditEntry {
  return create(AuditEntrySchema, { ...entry, at: timestampFromDate(at), ...(end ? endView(end) : {}) })
}

function endView({ result, detail, after }: AuditRow) {
  const { steps, fault } = JSON.parse(after) as KeptEnd
  return {
    result,
    tookMs: BigInt(detail['took_ms'] ?? 0),
    steps: steps.map(({ ms, ...step }) => ({ ...step, ...(ms === null ? {} : { tookMs: BigInt(ms) }) })),
    ...(fault ? { fault: faultToMessage(faultFromData(fault)) } : {}),
  }
}
