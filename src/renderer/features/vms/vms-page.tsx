import { Monitor, Plus } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { plural } from '../../lib/format.ts'
import { go, hrefOf, replaceRoute } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { useFleet, useHosts, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox, Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { VM_FILTER_FIELDS, vmFilterRecord } from './view-model.ts'
import { vmColumns } from './vms-table.tsx'

export function VmsPage({ filter }: { filter: string }) {
  const vms = useVms()
  const hosts = useHosts()
  const told = useFleet((f) => f.revision !== undefined)
  // State words with a clock time in them only change with the data; a minute is fine enough for matching them.
  const minute = Math.floor(useNow() / 60_000) * 60_000
  const shown = useMemo(() => {
    const terms = parseFilter(filter, VM_FILTER_FIELDS)
    return terms.length === 0 ? vms : vms.filter((vm) => matchesFilter(vmFilterRecord(vm, minute), terms))
  }, [vms, filter, minute])
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'vms', filter: text }), [])
  const alive = vms.filter((vm) => !vm.deletedAt).length
  const held = vms.length - alive
  const whole = held === 0 ? `${alive}` : `${alive}, and ${held} in quarantine`
  const count = filter === '' ? whole : `${shown.length} of ${vms.length}`

  return (
    <Page
      title={<PageTitle {...(told && vms.length > 0 ? { count } : {})}>VMs</PageTitle>}
      filter={
        vms.length > 0 && (
          <FilterBox
            value={filter}
            onFilter={setFilter}
            fields={VM_FILTER_FIELDS}
            example="web state:running -host:edge"
          />
        )
      }
      actions={
        <a href={hrefOf({ page: 'create-vm', host: '' })} className={buttonClass('primary')}>
          <Plus size={15} aria-hidden />
          Create VM
        </a>
      }
    >
      {vms.length === 0 ? (
        <EmptyState icon={Monitor} title="No VMs">
          {hosts.length === 0 ? (
            <p>Add a host first: this computer, or one you reach over SSH.</p>
          ) : (
            <p>Create one: about 20 s if the image is already here.</p>
          )}
          {hosts.length === 0 ? (
            <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
              Go to hosts
            </a>
          ) : (
            <a href={hrefOf({ page: 'create-vm', host: '' })} className={buttonClass('plain')}>
              Create your first VM
            </a>
          )}
        </EmptyState>
      ) : shown.length === 0 ? (
        <EmptyState icon={Monitor} title="No VM matches">
          <p>
            {plural(vms.length, 'VM')} {vms.length === 1 ? 'is' : 'are'} hidden by the filter.
          </p>
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <DataTable
          label="VMs"
          rows={shown}
          columns={vmColumns}
          rowId={(vm) => vm.id}
          onOpen={(vm) => go({ page: 'vm', id: vm.id, tab: 'overview' })}
          dimmed={(vm) => vm.deletedAt !== undefined}
          initialSort={{ id: 'name', desc: false }}
          minWidth={640}
        />
      )}
    </Page>
  )
}
