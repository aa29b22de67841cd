import { Cable, Plus, Radar } from 'lucide-react'
import { useCallback, useState } from 'react'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { go, replaceRoute } from '../../routes.ts'
import { fleetStore } from '../../state/fleet-store.ts'
import { useScopedPorts } from '../../state/scope.ts'
import { useFilteredRows } from '../../state/use-filtered.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { useKeys } from '../../ui/keys.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { openPublish } from './port-sheets.tsx'
import { portColumns } from './ports-table.tsx'
import { probeAll } from './probes.ts'
import { UnpublishSheet } from './unpublish-sheet.tsx'
import { PORT_FILTER_FIELDS, portFilterRecord } from './view-model.ts'

export function PortsPage({ filter }: { filter: string }) {
  const ports = useScopedPorts()
  const noVms = useFleet((f) => f.vms.size === 0)
  const [selected, onSelect] = useState<ReadonlySet<string>>(new Set())
  useKeys({ p: () => openPublish() })
  const shown = useFilteredRows(ports, { filter, fields: PORT_FILTER_FIELDS, record: portFilterRecord })
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'ports', filter: text }), [])
  const publish = (
    <Button look="primary" disabled={noVms} onClick={() => openPublish()} title="Publish a port (p)">
      <Plus size={15} aria-hidden />
      Publish a port
    </Button>
  )
  return (
    <Page
      title={
        <PageTitle count={filter === '' ? `${ports.length}` : `${shown.length} of ${ports.length}`}>
          Published ports
        </PageTitle>
      }
      filter={
        ports.length > 0 && (
          <FilterBox value={filter} onFilter={setFilter} fields={PORT_FILTER_FIELDS} example="web state:failed" />
        )
      }
      actions={publish}
    >
      {ports.length === 0 ? (
        <EmptyState icon={Cable} title="Nothing is published">
          <p>VMs are reachable only from their host. A published port leads from the host to one port of a guest.</p>
          {publish}
        </EmptyState>
      ) : shown.length === 0 ? (
        <EmptyState icon={Cable} title="No port matches">
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <DataTable
          label="Published ports"
          rows={shown}
          columns={portColumns}
          rowId={(port) => port.id}
          onOpen={(port) => go({ page: 'vm', id: port.vmId, tab: 'ports' })}
          initialSort={{ id: 'published', desc: false }}
          minWidth={700}
          name="ports"
          viewKey={filter}
          selection={{ selected, onSelect }}
          bulk={(ids) => <PortBulk ids={ids} />}
        />
      )}
    </Page>
  )
}

const portsOf = (ids: readonly string[]): Port[] =>
  ids.flatMap((id) => {
    const port = fleetStore.getState().ports.get(id)
    return port ? [port] : []
  })

function PortBulk({ ids }: { ids: string[] }) {
  const [closing, setClosing] = useState<Port[]>()
  return (
    <>
      <Button size="small" onClick={() => void probeAll(portsOf(ids))}>
        <Radar size={13} aria-hidden />
        Try to reach them
      </Button>
      <Button size="small" onClick={() => setClosing(portsOf(ids))}>
        Unpublish…
      </Button>
      {closing && <UnpublishSheet ports={closing} onClose={() => setClosing(undefined)} />}
    </>
  )
}
