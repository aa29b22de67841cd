import { Laptop, Plus, Server } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { useInfo } from '../../api/queries.ts'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { go, hrefOf, replaceRoute } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { addThisComputer } from './actions.ts'
import { hostColumns } from './hosts-table.tsx'
import { HOST_FILTER_FIELDS, hostFilterRecord } from './view-model.ts'

export function HostsPage({ filter }: { filter: string }) {
  const hosts = useHosts()
  const { data: info } = useInfo()
  const minute = Math.floor(useNow() / 60_000) * 60_000
  const shown = useMemo(() => {
    const terms = parseFilter(filter, HOST_FILTER_FIELDS)
    return hosts.filter((host) => matchesFilter(hostFilterRecord(host, minute), terms))
  }, [hosts, filter, minute])
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'hosts', filter: text }), [])
  const canAddLocal = info?.localHostPossible === true && !hosts.some((h) => h.kind === 'local')
  const count = filter === '' ? `${hosts.length}` : `${shown.length} of ${hosts.length}`
  return (
    <Page
      title={<PageTitle count={count}>Hosts</PageTitle>}
      filter={
        <FilterBox value={filter} onFilter={setFilter} fields={HOST_FILTER_FIELDS} example="rack -state:connected" />
      }
      actions={
        <>
          {canAddLocal && (
            <Button onClick={() => void addThisComputer()}>
              <Laptop size={14} aria-hidden />
              Use this computer
            </Button>
          )}
          <a href={hrefOf({ page: 'add-host', taskId: '' })} className={buttonClass('primary')}>
            <Plus size={15} aria-hidden />
            Add host
          </a>
        </>
      }
    >
      {shown.length === 0 ? (
        <EmptyState icon={Server} title="No host matches">
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <DataTable
          label="Hosts"
          rows={shown}
          columns={hostColumns}
          rowId={(host) => host.id}
          onOpen={(host) => go({ page: 'host', id: host.id, tab: 'overview' })}
          dimmed={(host) => host.status === 'decommissioning'}
          initialSort={{ id: 'name', desc: false }}
          minWidth={560}
        />
      )}
    </Page>
  )
}
