import type { AnswerTaskRequest, Task, TaskQuestion } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { api } from '../../api/transport.ts'
import { toastFault } from '../../ui/toasts.tsx'

type Answer = Exclude<AnswerTaskRequest['answer'], { case: undefined }>

/** `keep`: where a secret stays; empty = as said when the task was started. */
export async function answerTask(task: Task, question: TaskQuestion, answer: Answer, keep = ''): Promise<void> {
  try {
    await api.tasks.answerTask({ taskId: task.id, questionId: question.id, answer, keep })
  } catch (error) {
    toastFault(error)
  }
}

export async function cancelTask(task: Task): Promise<void> {
  try {
    await api.tasks.cancelTask({ id: task.id })
  } catch (error) {
    toastFault(error)
  }
}
