import { AlertTriangle, CircleDashed } from 'lucide-react'
import { Popover as Radix } from 'radix-ui'
import { useMemo, useState } from 'react'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatDuration, formatElapsed } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { cancelTask } from './actions.ts'
import { TaskSteps } from './task-steps.tsx'
import { isSlow, lastSignMs, usualOf, usualText } from './usual.ts'
import { cancelWord, mayCancel, taskLine, taskTitle } from './view-model.ts'

export const hrefOfTask = (task: Task) =>
  task.kind === 'add_host'
    ? hrefOf({ page: 'add-host', taskId: task.id })
    : hrefOf({ page: 'activity', filter: task.subject, view: 'tasks' })

/** How long it takes, what its kind usually takes, and whether that is slow. */
function usePace(task: Task) {
  const now = useNow()
  const tasks = useFleet((f) => f.tasks)
  const usual = useMemo(() => usualOf(tasks.values(), task.kind), [tasks, task.kind])
  const elapsedMs = Math.max(0, now - (msOf(task.createdAt) ?? now))
  return { elapsedMs, usual, slow: isSlow(task, elapsedMs, usual), signMs: now - lastSignMs(task, now) }
}

/** One running task in the strip; its button opens the steps, with the way to end it. */
export function TaskEntry({ task }: { task: Task }) {
  const [open, setOpen] = useState(false)
  const { elapsedMs, usual, slow, signMs } = usePace(task)
  const needs = task.state === 'asking' || slow
  return (
    <Radix.Root open={open} onOpenChange={setOpen}>
      <Radix.Trigger className="flex h-6 min-w-0 items-center gap-1.5 rounded hover:text-ink hover:underline">
        {needs ? (
          <AlertTriangle size={13} aria-hidden className="shrink-0 text-warn" />
        ) : (
          <CircleDashed size={13} aria-hidden className="shrink-0 text-info" />
        )}
        <span className={cx('truncate', slow && 'text-warn')}>
          {taskTitle(task)}: {taskLine(task)}
        </span>
        <span className="shrink-0 text-faint">
          {formatElapsed(elapsedMs)}
          {usual && !slow && ` (${usualText(usual)})`}
        </span>
        {slow && <span className="shrink-0 text-warn max-sm:hidden">slower than usual</span>}
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side="top"
          align="start"
          sideOffset={8}
          aria-label={taskTitle(task)}
          className="z-40 flex max-h-[70vh] w-[min(28rem,calc(100vw-1rem))] flex-col rounded-lg border border-line bg-panel text-sm shadow-pop"
        >
          <header className="border-line border-b px-4 py-2.5">
            <h2 className="font-medium text-base">{taskTitle(task)}</h2>
            <p className={cx('text-xs', slow ? 'text-warn' : 'text-dim')}>
              {formatElapsed(elapsedMs)}
              {usual ? `, ${usualText(usual)}` : ''}
              {slow && `. Slower than usual, still working: last sign of life ${formatDuration(signMs)} ago.`}
            </p>
          </header>
          <div className="min-h-0 overflow-y-auto px-4">
            <TaskSteps task={task} />
          </div>
          <footer className="flex justify-end gap-2 border-line border-t px-4 py-2.5">
            {mayCancel(task) && (
              <Button size="small" onClick={() => void cancelTask(task)} title="What it did so far is undone">
                {cancelWord(task)}
              </Button>
            )}
            <a
              href={hrefOfTask(task)}
              onClick={() => setOpen(false)}
              className={buttonClass(task.state === 'asking' ? 'primary' : 'plain', 'small')}
            >
              {task.state === 'asking' ? 'Answer' : 'Show log'}
            </a>
          </footer>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
