import { AlertTriangle, CircleDashed, X } from 'lucide-react'
import { useState } from 'react'
import { faultText } from '../../../ipc/fault-text.ts'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.tsx'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { IconButton } from '../../ui/button.tsx'
import { ClockStrip } from '../clock/clock-headline.tsx'
import { vmProgress, vmState } from '../vms/view-model.ts'
import { FeedState } from './feed-state.tsx'
import { isOpen, taskFault, taskLine, taskTitle } from './view-model.ts'

const MAX_SHOWN = 3

const hrefOfTask = (task: Task) =>
  task.kind === 'add_host' ? hrefOf({ page: 'add-host', taskId: task.id }) : hrefOf({ page: 'activity', filter: '' })

/** Bottom of every screen: what goes on now, the last thing that failed, and whether this window is being told. */
export function TaskStrip() {
  const tasks = useFleetShallow((f) => [...f.tasks.values()].filter(isOpen))
  const making = useFleetShallow((f) =>
    [...f.vms.values()].filter((vm) => vm.lifecycle === 'creating' && !vm.deletedAt && vm.progress && !vm.hostUnknown),
  )
  const entries = [
    ...tasks.map((task) => ({
      id: task.id,
      href: hrefOfTask(task),
      asking: task.state === 'asking',
      text: `${taskTitle(task)}: ${taskLine(task)}`,
    })),
    ...making.map((vm) => ({
      id: vm.id,
      href: hrefOf({ page: 'vm', id: vm.id, tab: 'overview' }),
      asking: false,
      text: [`${vm.name}: ${vmState(vm, 0).word}`, vm.detail, vmProgress(vm)?.bytes].filter(Boolean).join(' · '),
    })),
  ]
  return (
    <section
      data-region="tasks"
      aria-label="Running tasks"
      className="flex h-8 shrink-0 items-center gap-4 border-line border-t bg-bg px-4 text-dim text-xs"
    >
      {entries.slice(0, MAX_SHOWN).map((entry) => (
        <a
          key={entry.id}
          href={entry.href}
          className="flex min-w-0 items-center gap-1.5 hover:text-ink hover:underline"
        >
          {entry.asking ? (
            <AlertTriangle size={13} aria-hidden className="shrink-0 text-warn" />
          ) : (
            <CircleDashed size={13} aria-hidden className="shrink-0 text-info" />
          )}
          <span className="truncate">{entry.text}</span>
        </a>
      ))}
      {entries.length > MAX_SHOWN && <span className="shrink-0">and {entries.length - MAX_SHOWN} more</span>}
      {entries.length === 0 && <LastFailure />}
      <span className="sr-only" role="status">
        {entries.length === 0 ? '' : `${plural(entries.length, 'task')} running`}
      </span>
      <div className="ml-auto flex shrink-0 items-center gap-4">
        <ClockStrip />
        <FeedState />
      </div>
    </section>
  )
}

function LastFailure() {
  const [seen, setSeen] = useState<string>()
  const [failed] = useFleetShallow((f) => [...f.tasks.values()].filter((t) => t.state === 'failed').slice(-1))
  const fault = failed && taskFault(failed)
  if (!failed || !fault || failed.id === seen) return <span className="text-faint">No task is running</span>
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <AlertTriangle size={13} aria-hidden className="shrink-0 text-bad" />
      <a href={hrefOfTask(failed)} className="truncate hover:underline">
        {taskTitle(failed)} failed: {faultText(fault.code, fault.params).what}
      </a>
      <IconButton label="Dismiss" className="size-6" onClick={() => setSeen(failed.id)}>
        <X size={12} aria-hidden />
      </IconButton>
    </span>
  )
}
