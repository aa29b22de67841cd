import type { AnswerTaskRequest, Task, TaskQuestion } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { api } from '../../api/transport.ts'
import { toastFault } from '../../ui/toasts.tsx'

type Answer = Exclude<AnswerTaskRequest['answer'], { case: undefined }>

export async function answerTask(task: Task, question: TaskQuestion, answer: Answer): Promise<void> {
  try {
    await api.tasks.answerTask({ taskId: task.id, questionId: question.id, answer })
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
