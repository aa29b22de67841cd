import { Cable, Plus } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { go, replaceRoute } from '../../routes.tsx'
import { useFleet, usePorts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { useKeys } from '../../ui/keys.ts'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { openPublish } from './port-sheets.tsx'
import { portColumns } from './ports-table.tsx'
import { PORT_FILTER_FIELDS, portFilterRecord } from './view-model.ts'

export function PortsPage({ filter }: { filter: string }) {
  const ports = usePorts()
  const noVms = useFleet((f) => f.vms.size === 0)
  useKeys({ p: () => openPublish() })
  const shown = useMemo(() => {
    const terms = parseFilter(filter, PORT_FILTER_FIELDS)
    return ports.filter((port) => matchesFilter(portFilterRecord(port), terms))
  }, [ports, filter])
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'ports', filter: text }), [])
  const publish = (
    <Button look="primary" disabled={noVms} onClick={() => openPublish()}>
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
      filter={<FilterBox value={filter} onFilter={setFilter} fields={PORT_FILTER_FIELDS} example="web state:failed" />}
      actions={publish}
    >
      {ports.length === 0 ? (
        <EmptyState icon={Cable} title="Nothing is published">
          <p>VMs are reachable only from their host. A published port leads from the host to one port of a guest.</p>
          {publish}
        </EmptyState>
      ) : (
        <DataTable
          label="Published ports"
          rows={shown}
          columns={portColumns}
          rowId={(port) => port.id}
          onOpen={(port) => go({ page: 'vm', id: port.vmId, tab: 'ports' })}
          initialSort={{ id: 'published', desc: false }}
          minWidth={760}
        />
      )}
    </Page>
  )
}
