import { useMemo } from 'react'
import { parseFilter } from '../../lib/filter.ts'
import { go, hrefOf, replaceRoute } from '../../routes.ts'
import { fleetStore } from '../../state/fleet-store.ts'
import { useNow } from '../../state/now.ts'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { ViewToggle } from '../../ui/view-toggle.tsx'
import { ACTIVITY_FIELDS, activityQuery } from './audit-query.ts'
import { EntriesView } from './entries-view.tsx'
import { ExportButton } from './export-button.tsx'
import { TASK_FIELDS, TasksView } from './tasks-view.tsx'

const VIEWS = [
  { id: 'entries', label: 'What was done' },
  { id: 'tasks', label: 'Tasks' },
] as const

export function ActivityPage({ filter, view }: { filter: string; view?: 'tasks' | undefined }) {
  const tasks = view === 'tasks'
  const fields: readonly string[] = tasks ? TASK_FIELDS : ACTIVITY_FIELDS
  const place = (text: string) => ({
    page: 'activity' as const,
    filter: text,
    ...(tasks ? { view: 'tasks' as const } : {}),
  })
  const query = useQuery(filter, fields)
  return (
    <Page
      title={<PageTitle>Activity</PageTitle>}
      filter={
        <FilterBox
          key={tasks ? 'tasks' : 'entries'}
          value={filter}
          onFilter={(text) => replaceRoute(place(text))}
          fields={fields}
          example={tasks ? 'state:failed' : 'result:failed since:2d'}
        />
      }
      actions={
        <>
          <ViewToggle
            label="View"
            views={VIEWS}
            value={tasks ? 'tasks' : 'entries'}
            onView={(next) => go({ page: 'activity', filter: '', ...(next === 'tasks' ? { view: 'tasks' } : {}) })}
          />
          {!tasks && <ExportButton query={query} />}
        </>
      }
    >
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
        <div className="mx-auto grid max-w-5xl gap-3">
          <p className="flex flex-wrap justify-between gap-x-4 text-faint text-xs">
            <span>
              {tasks
                ? 'What takes some time, with its steps. It goes on when the app ends and comes back; what cannot says where it was cut short. The newest 200 that ended are kept.'
                : 'Only ever added to, never changed. It says what was asked, how it ended, and what happened of itself.'}
            </span>
            {!tasks && (
              <a href={hrefOf({ page: 'settings', part: 'data' })} className="text-accent underline">
                How long it is kept
              </a>
            )}
          </p>
          {query.problem && !tasks && (
            <p role="alert" className="text-warn">
              {query.problem}.
            </p>
          )}
          {tasks ? <TasksView terms={query.terms} /> : <EntriesView query={query} filter={filter} />}
        </div>
      </div>
    </Page>
  )
}

const MINUTE_MS = 60_000

function useQuery(filter: string, fields: readonly string[]) {
  const minute = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  return useMemo(() => {
    const { vms, hosts } = fleetStore.getState()
    const terms = parseFilter(filter, fields)
    const names = (rows: Iterable<{ name: string }>) => new Set([...rows].map(({ name }) => name))
    return { terms, ...activityQuery(terms, { vms: names(vms.values()), hosts: names(hosts.values()) }, minute) }
  }, [filter, fields, minute])
}
