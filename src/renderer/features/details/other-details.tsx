import { useTask } from '../../state/use-fleet.ts'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { taskFault } from '../tasks/view-model.ts'

export function TaskDetails({ id }: { id: string }) {
  const task = useTask(id)
  if (!task) return null
  const fault = taskFault(task)
  return (
    <div className="grid gap-4">
      {fault && <FaultNotice fault={fault} />}
      <TaskSteps task={task} />
    </div>
  )
}
