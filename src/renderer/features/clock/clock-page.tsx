import { Clock as ClockIcon } from 'lucide-react'
import { useCallback, useMemo, useState } from 'react'
import { go, hrefOf, replaceRoute } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useScopedHosts, useScopedVms } from '../../state/scope.ts'
import { useFilteredRows } from '../../state/use-filtered.ts'
import { useVm } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { setGuestClock } from './actions.ts'
import { HeadlineNote, useClockHeadline } from './clock-headline.tsx'
import { ClockLimits } from './clock-limits.tsx'
import { clockColumns } from './clock-table.tsx'
import { ResyncBulk } from './resync-bulk.tsx'
import { ResyncButton } from './resync-button.tsx'
import { CLOCK_FILTER_FIELDS, type ClockRow, clockFilterRecord, clockRows, whyNotSettable } from './view-model.ts'

export function ClockPage({ filter }: { filter: string }) {
  const hosts = useScopedHosts()
  const vms = useScopedVms()
  // Times of day in the rows only change with the data; a minute is fine enough for the day they are on.
  const minute = Math.floor(useNow() / 60_000) * 60_000
  const rows = useMemo(() => clockRows(hosts, vms, minute), [hosts, vms, minute])
  const shown = useFilteredRows(rows, { filter, fields: CLOCK_FILTER_FIELDS, record: clockFilterRecord })
  const [selected, onSelect] = useState<ReadonlySet<string>>(new Set())
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'clock', filter: text }), [])
  return (
    <Page
      title={
        <PageTitle count={filter === '' ? `${rows.length}` : `${shown.length} of ${rows.length}`}>Clock</PageTitle>
      }
      filter={
        rows.length > 0 && (
          <FilterBox
            value={filter}
            onFilter={setFilter}
            fields={CLOCK_FILTER_FIELDS}
            example="state:jumped kind:guest"
          />
        )
      }
    >
      {rows.length === 0 ? (
        <EmptyState icon={ClockIcon} title="No clocks yet">
          <p>Hosts and running guests are listed here with how far off their clocks are. Add a host first.</p>
          <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
            Go to hosts
          </a>
        </EmptyState>
      ) : (
        <>
          <div className="border-line border-b px-5 py-3">
            <Headline />
          </div>
          {shown.length === 0 ? (
            <EmptyState icon={ClockIcon} title="No clock matches">
              <Button onClick={() => setFilter('')}>Clear the filter</Button>
            </EmptyState>
          ) : (
            <DataTable
              label="Clocks"
              rows={shown}
              columns={clockColumns}
              rowId={(row) => row.id}
              onOpen={open}
              dimmed={(row) => row.asOf !== ''}
              initialSort={{ id: 'state', desc: false }}
              minWidth={560}
              name="clock"
              viewKey={filter}
              selection={{ selected, onSelect }}
              bulk={(ids) => <ResyncBulk ids={ids} />}
            />
          )}
          <details className="max-h-64 shrink-0 overflow-y-auto border-line border-t px-5 py-2 text-xs">
            <summary className="cursor-pointer py-0.5 text-dim">What breaks at which offset</summary>
            <div className="py-2">
              <ClockLimits />
            </div>
          </details>
        </>
      )}
    </Page>
  )
}

const open = ({ kind, id }: ClockRow) =>
  go(kind === 'host' ? { page: 'host', id, tab: 'overview' } : { page: 'vm', id, tab: 'clock' })

function Headline() {
  const headline = useClockHeadline()
  const vm = useVm(headline.guestId ?? '')
  const action = vm && whyNotSettable(vm) === undefined && <ResyncButton run={() => setGuestClock(vm)} look="primary" />
  return <HeadlineNote headline={headline} action={action} />
}
