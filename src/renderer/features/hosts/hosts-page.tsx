import { Laptop, Plus, Server } from 'lucide-react'
import { useCallback, useMemo, useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { useInfo } from '../../api/queries.ts'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { go, hrefOf, replaceRoute } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useScopedHosts } from '../../state/scope.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { addThisComputer, undrainHost } from './actions.ts'
import { HOST_FILTER_FIELDS, hostFilterRecord } from './host-filter.ts'
import { hostsOf, useHostSheets } from './host-sheets.tsx'
import { hostColumns } from './hosts-table.tsx'

export function HostsPage({ filter }: { filter: string }) {
  const hosts = useScopedHosts()
  const { data: info } = useInfo()
  const sheets = useHostSheets()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const shown = useShown(hosts, filter)
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'hosts', filter: text }), [])
  const canAddLocal = info?.localHostPossible === true && !hosts.some((h) => h.kind === 'local')
  const count = filter === '' ? `${hosts.length}` : `${shown.length} of ${hosts.length}`
  return (
    <Page
      title={<PageTitle count={count}>Hosts</PageTitle>}
      filter={
        <FilterBox value={filter} onFilter={setFilter} fields={HOST_FILTER_FIELDS} example="rack -state:connected" />
      }
      actions={<Adding canAddLocal={canAddLocal} />}
    >
      {shown.length === 0 ? (
        <EmptyState icon={Server} title={filter === '' ? 'No host in this scope' : 'No host matches'}>
          {filter !== '' && <Button onClick={() => setFilter('')}>Clear the filter</Button>}
        </EmptyState>
      ) : (
        <DataTable
          label="Hosts"
          name="hosts"
          rows={shown}
          columns={hostColumns}
          rowId={idOf}
          onOpen={(host) => go({ page: 'host', id: host.id, tab: 'overview' })}
          onKey={(key, host) => key === 'e' && take(() => sheets.edit([host]))}
          dimmed={(host) => host.status === 'decommissioning'}
          initialSort={{ id: 'name', desc: false }}
          minWidth={520}
          viewKey={filter}
          selection={{ selected, onSelect: setSelected }}
          bulk={(ids) => <BulkActs ids={ids} />}
        />
      )}
    </Page>
  )
}

const idOf = (host: Host) => host.id

function take(act: () => void): true {
  act()
  return true
}

/** Times in state words change with the data; a minute is fine enough for matching them. */
function useShown(hosts: readonly Host[], filter: string): readonly Host[] {
  const minute = Math.floor(useNow() / 60_000) * 60_000
  return useMemo(() => {
    const terms = parseFilter(filter, HOST_FILTER_FIELDS)
    return terms.length === 0 ? hosts : hosts.filter((host) => matchesFilter(hostFilterRecord(host, minute), terms))
  }, [hosts, filter, minute])
}

function Adding({ canAddLocal }: { canAddLocal: boolean }) {
  return (
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
  )
}

/** Each opens a sheet that shows what will happen to which host before it does. */
function BulkActs({ ids }: { ids: string[] }) {
  const sheets = useHostSheets()
  const drained = hostsOf(ids).filter((host) => host.draining !== '')
  return (
    <>
      <Button size="small" onClick={() => sheets.edit(hostsOf(ids))}>
        Labels…
      </Button>
      <Button size="small" onClick={() => sheets.upgrade(hostsOf(ids))}>
        Update agents…
      </Button>
      {drained.length > 0 && (
        <Button size="small" onClick={() => void Promise.all(drained.map(undrainHost))}>
          Undrain {drained.length}
        </Button>
      )}
      <Button size="small" onClick={() => sheets.drain(hostsOf(ids))}>
        Drain…
      </Button>
    </>
  )
}
