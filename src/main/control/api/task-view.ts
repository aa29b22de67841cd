import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { faultToMessage } from '../../../ipc/fault-wire.ts'
import { faultFromData } from '../../../ipc/faults.ts'
import {
  type Task,
  type TaskQuestion,
  TaskQuestionSchema,
  TaskSchema,
} from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { outcomeOf, type TaskRow, type TaskStepRow } from '../store/task-row.ts'
import type { Question } from '../tasks/task-context.ts'

/** A task as clients see it; its question only while it is asked. */
export function taskView(row: TaskRow): Task {
  return create(TaskSchema, {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    state: outcomeOf(row),
    user: row.owner.user,
    client: row.owner.client,
    requestId: row.owner.requestId,
    vmId: row.goesOn?.how === 'watched' ? row.goesOn.watch.vmId : '',
    steps: row.steps.map(stepView),
    resultId: row.resultId,
    createdAt: timestampFromDate(row.createdAt),
    ...(row.question ? { question: questionView(row.question.id, row.question.ask) } : {}),
    ...(row.fault ? { fault: faultToMessage(faultFromData(row.fault)) } : {}),
    ...(row.endedAt ? { endedAt: timestampFromDate(row.endedAt) } : {}),
  })
}

const stepView = (step: TaskStepRow) => ({
  name: step.name,
  state: step.state,
  detail: step.detail,
  doneBytes: BigInt(step.doneBytes),
  log: step.log ?? [],
  checks: [...(step.checks ?? [])],
  facts: [...(step.facts ?? [])],
  script: step.script ?? '',
  ...(step.totalBytes === null ? {} : { totalBytes: BigInt(step.totalBytes) }),
  ...(step.startedAt ? { startedAt: timestampFromDate(new Date(step.startedAt)) } : {}),
  ...(step.endedAt ? { endedAt: timestampFromDate(new Date(step.endedAt)) } : {}),
})

function questionView(id: string, question: Question): TaskQuestion {
  return create(TaskQuestionSchema, { id, kind: kindOf(question) })
}

function kindOf(question: Question) {
  switch (question.kind) {
    case 'host_key': {
      const { host, keyType, fingerprint, known } = question
      const since = known?.since ? { knownSince: timestampFromDate(new Date(known.since)) } : {}
      const before = known ? { knownFingerprint: known.fingerprint, ...since } : {}
      return { case: 'hostKey' as const, value: { host, keyType, fingerprint, ...before } }
    }
    case 'secret':
      return {
        case: 'secret' as const,
        value: { what: question.what, of: question.of, problem: question.problem },
      }
    case 'prompt': {
      const { of, instruction, prompt, echo, problem } = question
      return { case: 'prompt' as const, value: { of, instruction, prompt, echo, problem } }
    }
    case 'packages':
      return { case: 'packages' as const, value: { missing: question.missing, command: question.command } }
    case 'take_over':
      return { case: 'takeOver' as const, value: { controllerName: question.controllerName } }
  }
}
