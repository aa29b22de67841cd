import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { AnswerTaskRequest, TaskService } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { keepOf } from '../hosts/secrets.ts'
import type { Answer } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import { principalOf } from './principal.ts'
import { taskView } from './task-view.ts'

/** Tasks: looked at, answered and cancelled; none is started here. */
export function tasksApi(tasks: TaskRunner): ServiceImpl<typeof TaskService> {
  return {
    listTasks: (_, context) => ({ tasks: tasks.list(principalOf(context).tenant).map(taskView) }),
    getTask: ({ id }, context) => ({ task: taskView(tasks.get(principalOf(context).tenant, id)) }),
    answerTask: (request, context) => {
      const { taskId, questionId } = request
      return { task: taskView(tasks.answer(principalOf(context).tenant, taskId, questionId, answerOf(request))) }
    },
    cancelTask: ({ id }, context) => ({ task: taskView(tasks.cancel(principalOf(context).tenant, id)) }),
  }
}

function answerOf({ answer, keep }: AnswerTaskRequest): Answer {
  switch (answer.case) {
    case 'acceptFingerprint':
      return { fingerprint: answer.value }
    case 'secret':
      return { secret: answer.value, ...(keep === '' ? {} : { keep: keepOf(keep) }) }
    case 'agree':
      return { agree: answer.value }
    case undefined:
      throw new Fault('input/invalid', 'permanent', { field: 'answer', problem: 'give one', value: '' })
  }
}
