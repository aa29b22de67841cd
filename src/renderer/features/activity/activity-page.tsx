import { useState } from 'react'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.tsx'
import { useTasks } from '../../state/use-fleet.ts'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Card, Page, PageTitle } from '../../ui/page.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { isOpen, taskFault, taskLine, taskTitle } from '../tasks/view-model.ts'
import { AuditList } from './audit-list.tsx'

const MAX_ENTRIES = 500
const MAX_TASKS = 20
const FIELDS = ['action', 'vm', 'host'] as const

export function ActivityPage(_: { filter: string }) {
  const [filter, setFilter] = useState('')
  const terms = parseFilter(filter, FIELDS)
  return (
    <Page
      title={<PageTitle>Activity</PageTitle>}
      filter={<FilterBox value={filter} onFilter={setFilter} fields={FIELDS} example="vm.create" />}
    >
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
        <div className="mx-auto grid max-w-5xl gap-4">
          <Tasks />
          <Card title="Everything that was changed, newest first">
            <AuditList
              limit={MAX_ENTRIES}
              filter={(e) =>
                matchesFilter(
                  { action: e.action, vm: e.vmId, host: e.hostId, detail: Object.values(e.detail).join(' ') },
                  terms,
                )
              }
            />
          </Card>
        </div>
      </div>
    </Page>
  )
}

function Tasks() {
  const tasks = useTasks()
    .sort((a, b) => (msOf(b.createdAt) ?? 0) - (msOf(a.createdAt) ?? 0))
    .slice(0, MAX_TASKS)
  if (tasks.length === 0) return null
  return (
    <Card title="Tasks">
      <ul className="grid gap-1">
        {tasks.map((task) => {
          const fault = taskFault(task)
          const line = isOpen(task) ? taskLine(task) : task.state
          return (
            <li key={task.id} className="border-line border-b py-1.5 last:border-b-0">
              <details>
                <summary>
                  <span className="mx-1 font-medium">{taskTitle(task)}</span> <span className="text-dim">{line}</span>
                </summary>
                <div className="mt-2 max-w-xl pl-4">
                  <TaskSteps task={task} />
                  {task.kind === 'add_host' && isOpen(task) && (
                    <a href={hrefOf({ page: 'add-host', taskId: task.id })} className="text-accent hover:underline">
                      Open
                    </a>
                  )}
                </div>
              </details>
              {fault && (
                <div className="mt-1.5">
                  <FaultNotice fault={fault} />
                </div>
              )}
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
