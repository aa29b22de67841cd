import { Network as NetworkIcon, Plus } from 'lucide-react'
import { useMemo } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { hrefOf, replaceRoute } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useScopedHosts } from '../../state/scope.ts'
import { useFilteredRows } from '../../state/use-filtered.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { HostState } from '../hosts/hosts-table.tsx'
import { isCurrent } from '../hosts/view-model.ts'
import { HostNetworks, PreflightButton } from './host-networks.tsx'
import { asOfWords, hostsInOrder, NETWORK_FILTER_FIELDS, networkFilterRecord } from './view-model.ts'

const setFilter = (filter: string) => replaceRoute({ page: 'networks', filter })

export function NetworksPage({ filter }: { filter: string }) {
  const all = useScopedHosts()
  const shown = useFilteredRows(all, { filter, fields: NETWORK_FILTER_FIELDS, record: networkFilterRecord })
  const hosts = useMemo(() => hostsInOrder(shown), [shown])
  const count = hosts.reduce((sum, { networks }) => sum + networks.length, 0)
  return (
    <Page
      title={<PageTitle count={String(count)}>Networks</PageTitle>}
      filter={
        all.length > 0 && (
          <FilterBox
            value={filter}
            onFilter={setFilter}
            fields={NETWORK_FILTER_FIELDS}
            example="state:down kind:nat"
            values={(field) => [...new Set(all.map((host) => networkFilterRecord(host)[field] ?? ''))].filter(Boolean)}
            list=""
          />
        )
      }
    >
      {all.length === 0 ? (
        <EmptyState icon={NetworkIcon} title="No networks yet">
          <p>
            Every host gives its guests a network by itself: a bridge behind the host's own address (NAT). Guests reach
            out through it and each other on it; from outside nothing reaches them but the ports you publish. Bridges
            you made on a host can be offered to VMs beside it.
          </p>
          <a href={hrefOf({ page: 'add-host', taskId: '' })} className={buttonClass('primary')}>
            <Plus size={15} aria-hidden />
            Add a host
          </a>
        </EmptyState>
      ) : hosts.length === 0 ? (
        <EmptyState icon={NetworkIcon} title="No network matches">
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <div className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
          <div className="mx-auto grid max-w-5xl gap-4">
            {hosts.map((host) => (
              <HostSection key={host.id} host={host} />
            ))}
          </div>
        </div>
      )}
    </Page>
  )
}

function HostSection({ host }: { host: Host }) {
  const asOf = asOfWords(host, useNow())
  return (
    <section
      aria-label={`Networks of ${host.name}`}
      className="min-w-0 rounded-lg border border-line bg-panel [contain-intrinsic-size:auto_280px] [content-visibility:auto]"
    >
      <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-4 py-2">
        <h2 className="truncate font-medium">
          <a href={hrefOf({ page: 'host', id: host.id, tab: 'overview' })} className="hover:underline">
            {host.name}
          </a>
        </h2>
        <HostState host={host} />
        {asOf !== '' && <span className="text-dim text-xs">{asOf}</span>}
        <span className="ml-auto">
          <PreflightButton host={host} />
        </span>
      </header>
      <div className={cx('p-4', !isCurrent(host) && 'grayscale')}>
        <HostNetworks host={host} />
      </div>
    </section>
  )
}
