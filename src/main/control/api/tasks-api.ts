import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { AnswerTaskRequest, TaskService } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Answer } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import { taskView } from './task-view.ts'

/** Tasks: looked at, answered and cancelled; none is started here. */
export function tasksApi(tasks: TaskRunner): ServiceImpl<typeof TaskService> {
  return {
    listTasks: () => ({ tasks: tasks.list().map(taskView) }),
    getTask: ({ id }) => ({ task: taskView(tasks.get(id)) }),
    answerTask: (request) => ({
      task: taskView(tasks.answer(request.taskId, request.questionId, answerOf(request))),
    }),
    cancelTask: ({ id }) => ({ task: taskView(tasks.cancel(id)) }),
  }
}

function answerOf({ answer }: AnswerTaskRequest): Answer {
  switch (answer.case) {
    case 'acceptFingerprint':
      return { fingerprint: answer.value }
    case 'secret':
      return { secret: answer.value }
    case 'agree':
      return { agree: answer.value }
    case undefined:
      throw new Fault('input/invalid', 'permanent', { field: 'answer', problem: 'give one', value: '' })
  }
}
