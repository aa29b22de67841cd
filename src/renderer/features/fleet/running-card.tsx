import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatElapsed, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { Card } from '../../ui/page.tsx'
import { ProgressBar } from '../../ui/progress.tsx'
import { currentStep, isOpen, stepFraction, taskLine, taskTitle, vmsOfTasks } from '../tasks/view-model.ts'
import { vmProgress, vmState } from '../vms/view-model.ts'

const SHOWN = 5

interface Running {
  id: string
  href: string
  title: string
  line: string
  fraction: number | undefined
  elapsed: string
}

const since = (at: number | undefined, now: number) => (at === undefined ? '' : formatElapsed(now - at))

function runningOf(tasks: readonly Task[], vms: readonly Vm[], now: number): Running[] {
  const open = tasks.filter(isOpen).map((task) => {
    const step = currentStep(task)
    return {
      id: task.id,
      href:
        task.kind === 'add_host'
          ? hrefOf({ page: 'add-host', taskId: task.id })
          : task.vmId
            ? hrefOf({ page: 'vm', id: task.vmId, tab: 'overview' })
            : hrefOf({ page: 'activity', filter: '', view: 'tasks' }),
      title: taskTitle(task),
      line: taskLine(task),
      fraction: step && stepFraction(step),
      elapsed: since(msOf(task.createdAt), now),
    }
  })
  const told = vmsOfTasks(tasks)
  const made = vms
    .filter((vm) => !told.has(vm.id) && vm.lifecycle === 'creating' && !vm.deletedAt && vm.progress && !vm.hostUnknown)
    .map((vm) => {
      const progress = vmProgress(vm)
      return {
        id: vm.id,
        href: hrefOf({ page: 'vm', id: vm.id, tab: 'overview' }),
        title: `${vm.name} on ${vm.hostName}`,
        line: [vmState(vm, now).word, progress?.detail, progress?.bytes].filter(Boolean).join(' · '),
        fraction: progress?.fraction,
        elapsed: since(msOf(vm.createdAt), now),
      }
    })
  return [...open, ...made]
}

/** What goes on now, each with its step; nothing at all while nothing does. */
export function RunningCard({ tasks, vms, now }: { tasks: readonly Task[]; vms: readonly Vm[]; now: number }) {
  const running = runningOf(tasks, vms, now)
  if (running.length === 0) return null
  return (
    <Card title="Going on now">
      <ul className="-my-1 grid gap-1">
        {running.slice(0, SHOWN).map(({ id, href, title, line, fraction, elapsed }) => (
          <li key={id} className="py-1">
            <div className="flex items-baseline gap-3">
              <a href={href} className="shrink-0 font-medium hover:underline">
                {title}
              </a>
              <span className="min-w-0 flex-1 truncate text-dim">{line}</span>
              <span className="shrink-0 text-faint text-xs">{elapsed}</span>
            </div>
            {fraction !== undefined && (
              <div className="mt-1.5">
                <ProgressBar fraction={fraction} label={title} />
              </div>
            )}
          </li>
        ))}
      </ul>
      {running.length > SHOWN && (
        <p className="mt-2 text-dim">and {plural(running.length - SHOWN, 'more', 'more')}, in the strip below</p>
      )}
    </Card>
  )
}
