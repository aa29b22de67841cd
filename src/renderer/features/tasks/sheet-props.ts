import type { Task, TaskQuestion } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'

/** What every sheet that asks a task's question is given. */
export interface SheetProps {
  task: Task
  question: TaskQuestion
  onClose: () => void
}
