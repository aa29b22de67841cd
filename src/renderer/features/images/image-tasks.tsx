import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { api } from '../../api/transport.ts'
import { msOf } from '../../lib/timestamp.ts'
import { useNow } from '../../state/now.ts'
import { useTasks } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { toastFault } from '../../ui/toasts.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { isOpen, taskFault, taskTitle } from '../tasks/view-model.ts'

const KINDS = ['build_image', 'add_image', 'import_image', 'push_image']
const SHOWN = 4
/** Older than this it is in Activity alone. */
const FAULT_MS = 30 * 60_000

/** What is under way with images, step by step, and how the newest one failed when it did. */
export function ImageTasks() {
  const now = useNow()
  const tasks = useTasks().filter(({ kind }) => KINDS.includes(kind))
  const open = tasks.filter(isOpen).slice(-SHOWN)
  const last = tasks.at(-1)
  const isNew = now - (msOf(last?.endedAt) ?? now) < FAULT_MS
  const fault = last?.state === 'failed' && isNew ? taskFault(last) : undefined
  if (open.length === 0 && !fault) return null
  return (
    <div className="grid gap-3 border-line border-b px-5 py-3">
      {open.map((task) => (
        <Running key={task.id} task={task} />
      ))}
      {fault && <FaultNotice fault={fault} />}
    </div>
  )
}

function Running({ task }: { task: Task }) {
  return (
    <section aria-label={taskTitle(task)} className="max-w-2xl">
      <header className="flex items-center gap-3">
        <h2 className="font-medium">{taskTitle(task)}</h2>
        <Button
          size="small"
          look="quiet"
          title="Nothing is added, and what came so far goes"
          onClick={() => void api.tasks.cancelTask({ id: task.id }).catch(toastFault)}
        >
          Cancel
        </Button>
      </header>
      <TaskSteps task={task} />
    </section>
  )
}
