import { Monitor, Plus } from 'lucide-react'
import { useMemo } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { go, hrefOf } from '../../routes.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { DataTable } from '../../ui/table.tsx'
import { vmColumns } from '../vms/vms-table.tsx'
import { undrainHost } from './actions.ts'
import { useHostSheets } from './host-sheets.tsx'
import { drainWords } from './view-model.ts'

const columns = vmColumns.filter(({ id }) => id !== 'host')

/** The VMs of one host, quarantine included, and whether it takes more. */
export function HostVms({ host }: { host: Host }) {
  const all = useVms()
  const sheets = useHostSheets()
  const vms = useMemo(() => all.filter((vm) => vm.hostId === host.id), [all, host.id])
  const drained = drainWords(host)
  return (
    <>
      <div className="flex min-h-11 flex-wrap items-center gap-3 border-line border-b px-5 py-1.5 text-dim">
        <span className={drained === '' ? '' : 'text-warn'}>{drained || 'Takes new VMs'}</span>
        {drained === '' ? (
          <Button size="small" onClick={() => sheets.drain([host])}>
            Drain…
          </Button>
        ) : (
          <Button size="small" onClick={() => void undrainHost(host)}>
            Undrain
          </Button>
        )}
        <a href={hrefOf({ page: 'vms', filter: `host:${host.name}` })} className="ml-auto text-accent hover:underline">
          Show in the list of all VMs
        </a>
      </div>
      {vms.length === 0 ? (
        <EmptyState icon={Monitor} title={`No VMs on ${host.name}`}>
          <a href={hrefOf({ page: 'create-vm', host: host.id })} className={buttonClass('primary')}>
            <Plus size={15} aria-hidden />
            Create VM here
          </a>
        </EmptyState>
      ) : (
        <DataTable
          label={`VMs of ${host.name}`}
          name="host-vms"
          rows={vms}
          columns={columns}
          rowId={idOf}
          onOpen={(vm) => go({ page: 'vm', id: vm.id, tab: 'overview' })}
          dimmed={(vm) => vm.deletedAt !== undefined}
          initialSort={{ id: 'name', desc: false }}
          minWidth={520}
        />
      )}
    </>
  )
}

const idOf = (vm: Vm) => vm.id
