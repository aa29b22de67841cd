import { AlertTriangle, CircleDashed, X } from 'lucide-react'
import { useMemo, useState } from 'react'
import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatElapsed, formatTime, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet, useFleetShallow, useVmCount } from '../../state/use-fleet.ts'
import { IconButton } from '../../ui/button.tsx'
import { ClockStrip } from '../clock/clock-headline.tsx'
import { vmProgress, vmState } from '../vms/view-model.ts'
import { FeedState } from './feed-state.tsx'
import { hrefOfTask, TaskEntry } from './task-entry.tsx'
import { isOpen, taskFault, taskTitle, vmsOfTasks } from './view-model.ts'

const MAX_SHOWN = 3
const NONE: Vm[] = []

const isBeingMade = (vm: Vm): boolean =>
  vm.lifecycle === 'creating' && !vm.deletedAt && vm.progress !== undefined && !vm.hostUnknown

/** Bottom of every screen: what goes on now, the last thing that failed, and whether this window is being told. */
export function TaskStrip() {
  const tasks = useFleetShallow((f) => [...f.tasks.values()].filter(isOpen))
  // Counted by what changed, so that no change of ten thousand VMs that are whole looks at all of them.
  const anyMade = useVmCount(isBeingMade) > 0
  const told = useMemo(() => vmsOfTasks(tasks), [tasks])
  const being = useFleetShallow((f) => (anyMade ? [...f.vms.values()].filter(isBeingMade) : NONE))
  const making = being.filter(({ id }) => !told.has(id))
  const running = tasks.length + making.length
  const shownTasks = tasks.slice(0, MAX_SHOWN)
  const shownVms = making.slice(0, MAX_SHOWN - shownTasks.length)
  const more = running - shownTasks.length - shownVms.length
  return (
    <section
      data-region="tasks"
      aria-label="Running tasks"
      className="flex h-8 shrink-0 items-center gap-4 border-line border-t bg-bg px-4 text-dim text-xs"
    >
      <div className="-mx-1 flex min-w-0 flex-1 items-center gap-4 overflow-hidden px-1 max-sm:[&>*:nth-child(n+2)]:hidden">
        {shownTasks.map((task) => (
          <TaskEntry key={task.id} task={task} />
        ))}
        {shownVms.map((vm) => (
          <a
            key={vm.id}
            href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}
            className="flex min-w-0 items-center gap-1.5 hover:text-ink hover:underline"
          >
            <CircleDashed size={13} aria-hidden className="shrink-0 text-info" />
            <span className="truncate">
              {[`${vm.name}: ${vmState(vm, 0).word}`, vm.detail, vmProgress(vm)?.bytes].filter(Boolean).join(' · ')}
            </span>
            <Elapsed sinceMs={msOf(vm.createdAt)} />
          </a>
        ))}
        {more > 0 && (
          <a
            href={hrefOf({ page: 'activity', filter: '', view: 'tasks' })}
            className="shrink-0 hover:text-ink hover:underline"
          >
            and {more} more
          </a>
        )}
        <LastFailure short={running > 0} />
      </div>
      <span className="sr-only" role="status">
        {running === 0 ? '' : `${plural(running, 'task')} running`}
      </span>
      <div className="ml-auto flex shrink-0 items-center gap-4">
        <ClockStrip />
        <FeedState />
        <TimeOfDay />
      </div>
    </section>
  )
}

function Elapsed({ sinceMs }: { sinceMs: number | undefined }) {
  const now = useNow()
  if (sinceMs === undefined) return null
  return <span className="shrink-0 text-faint">{formatElapsed(Math.max(0, now - sinceMs))}</span>
}

/** Local, with UTC on hover: the ages on the screen are read against it. */
function TimeOfDay() {
  const now = new Date(useNow())
  return (
    <time dateTime={now.toISOString()} title={`${now.toISOString().slice(0, 19)}Z`} className="hidden md:inline">
      {formatTime(now, now)}
    </time>
  )
}

const endOf = (task: Task) => msOf(task.endedAt) ?? msOf(task.createdAt) ?? 0

/** The last task that failed, until it is dismissed; one word beside tasks that run. */
function LastFailure({ short }: { short: boolean }) {
  const [seen, setSeen] = useState<string>()
  const tasks = useFleet((f) => f.tasks)
  const failed = useMemo(
    () =>
      [...tasks.values()]
        .filter((t) => t.state === 'failed')
        .reduce<Task | undefined>((last, t) => (last && endOf(last) > endOf(t) ? last : t), undefined),
    [tasks],
  )
  const fault = failed && taskFault(failed)
  if (!failed || !fault || failed.id === seen)
    return short ? null : <span className="text-faint">No task is running</span>
  const text = `${taskTitle(failed)} failed: ${windowFaultText(fault.code, fault.params).what}`
  return (
    <span className={cx('flex items-center gap-1.5', short ? 'shrink-0' : 'min-w-0')}>
      <AlertTriangle size={13} aria-hidden className="shrink-0 text-bad" />
      <a href={hrefOfTask(failed)} title={text} className="truncate hover:underline">
        {short ? 'Last failure' : text}
      </a>
      <IconButton label="Dismiss" className="size-6" onClick={() => setSeen(failed.id)}>
        <X size={12} aria-hidden />
      </IconButton>
    </span>
  )
}
