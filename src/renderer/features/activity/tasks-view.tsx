import { useMemo, useState } from 'react'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { type FilterTerm, matchesFilter } from '../../lib/filter.ts'
import { formatAgo, formatDuration, formatElapsed, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useTasks } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { type StateView, StateWord } from '../../ui/state-word.tsx'
import { cancelTask } from '../tasks/actions.ts'
import { TaskQuestionSheet } from '../tasks/task-question.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { againHref, cancelWord, isOpen, mayCancel, taskFault, taskLine, taskTitle } from '../tasks/view-model.ts'
import { RESULTS } from './result.ts'

export const TASK_FIELDS = ['task', 'kind', 'state'] as const
const SHOWN = 100

const STATES: Record<string, StateView> = { ...RESULTS, asking: { word: 'Needs an answer', tone: 'warn' } }
const stateOf = ({ state }: Task): StateView => STATES[state] ?? { word: state, tone: 'unknown' }

const ORDER = ['asking', 'running']
const rank = ({ state }: Task) => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length)

/** Tasks that wait for a person, then those that run, then those that ended, newest first. */
export function TasksView({ terms }: { terms: readonly FilterTerm[] }) {
  const all = useTasks()
  const [most, setMost] = useState(SHOWN)
  const tasks = useMemo(
    () =>
      all
        .filter((task) => matchesFilter(recordOf(task), terms))
        .sort((a, b) => rank(a) - rank(b) || (msOf(b.createdAt) ?? 0) - (msOf(a.createdAt) ?? 0)),
    [all, terms],
  )
  if (tasks.length === 0)
    return <p className="py-6 text-center text-dim">{all.length === 0 ? 'No task has run yet.' : 'No task matches.'}</p>
  return (
    <>
      <ul className="divide-y divide-line rounded-lg border border-line bg-panel px-4">
        {tasks.slice(0, most).map((task) => (
          <TaskRow key={task.id} task={task} />
        ))}
      </ul>
      {tasks.length > most && (
        <Button className="justify-self-center" onClick={() => setMost(most + SHOWN)}>
          Show older, {plural(tasks.length - most, 'more', 'more')}
        </Button>
      )}
    </>
  )
}

const recordOf = (task: Task) => ({
  task: `${task.subject} ${taskTitle(task)}`,
  kind: task.kind,
  state: `${task.state} ${stateOf(task).word}`,
  said: taskLine(task),
})

/** Where what was cut short is begun again; nothing where it goes on by itself or has a place of its own. */
function TryAgain({ task }: { task: Task }) {
  const href = againHref(task)
  if (href === undefined) return null
  return (
    <a href={href} className={buttonClass('plain', 'small')}>
      {task.vmId === '' ? 'Try again' : 'Open VM'}
    </a>
  )
}

function TaskRow({ task }: { task: Task }) {
  const now = useNow()
  const [asked, setAsked] = useState(false)
  const open = isOpen(task)
  const fault = taskFault(task)
  const from = msOf(task.createdAt)
  const to = msOf(task.endedAt)
  return (
    <li className="py-2.5" data-details={`task:${task.id}`}>
      <details open={open}>
        <summary className="flex min-h-6 flex-wrap items-center gap-x-3">
          <span className="font-medium">{taskTitle(task)}</span>
          <StateWord state={stateOf(task)} />
          {task.state === 'running' && <span className="min-w-0 flex-1 truncate text-dim">{taskLine(task)}</span>}
          <span className="ml-auto text-faint text-xs">
            {from === undefined
              ? ''
              : to === undefined
                ? formatElapsed(now - from)
                : `${formatAgo(new Date(to), new Date(now))}, took ${formatDuration(to - from)}`}
          </span>
        </summary>
        <div className="mt-1 max-w-2xl pl-4">
          <TaskSteps task={task} />
          {open && (
            <div className="flex gap-2 py-2">
              {task.state === 'asking' ? (
                <Button size="small" look="primary" onClick={() => setAsked(true)}>
                  Answer
                </Button>
              ) : (
                task.kind === 'add_host' && (
                  <a href={hrefOf({ page: 'add-host', taskId: task.id })} className={buttonClass('plain', 'small')}>
                    Open
                  </a>
                )
              )}
              {task.vmId !== '' && (
                <a
                  href={hrefOf({ page: 'vm', id: task.vmId, tab: 'overview' })}
                  className={buttonClass('plain', 'small')}
                >
                  Open VM
                </a>
              )}
              {mayCancel(task) && (
                <Button size="small" title="What it did so far is undone" onClick={() => void cancelTask(task)}>
                  {cancelWord(task)}
                </Button>
              )}
            </div>
          )}
        </div>
      </details>
      {asked && <TaskQuestionSheet task={task} onClose={() => setAsked(false)} />}
      {fault && (
        <div className="mt-1.5">
          <FaultNotice fault={fault} actions={<TryAgain task={task} />} />
        </div>
      )}
    </li>
  )
}
