import { type ReactNode, useCallback, useMemo } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { go } from '../../routes.ts'
import { DataTable } from '../../ui/table.tsx'
import { openPublish } from '../ports/port-sheets.tsx'
import { BulkActs } from './bulk-acts.tsx'
import type { BulkAct } from './bulk-plan.ts'
import { type TreeRow, treeRows } from './tree-rows.ts'
import { vmActions } from './view-model.ts'
import { useVmSheets } from './vm-sheets.tsx'
import { vmColumns } from './vms-table.tsx'
import { treeColumns } from './vms-tree.tsx'

interface VmsViewProps {
  view: 'list' | 'tree'
  filter: string
  hosts: readonly Host[]
  vms: readonly Vm[]
  selected: ReadonlySet<string>
  onSelect: (next: ReadonlySet<string>) => void
  onBulk: (bulk: { act: BulkAct; ids: readonly string[] }) => void
  /** Shown when there is no VM to show. */
  none: ReactNode
}

const idOf = (row: { id: string }) => row.id
const isGone = (vm: Vm) => vm.deletedAt !== undefined
const openVm = ({ id }: Vm) => go({ page: 'vm', id, tab: 'overview' })
const SORT = { id: 'name', desc: false }

/** The VMs as one list or under their hosts, with the keys of a row and what can be done with the chosen ones. */
export function VmsView(props: VmsViewProps) {
  const { view, filter, vms, selected, onSelect, onBulk, none } = props
  const onKey = useRowKeys()
  const bulk = (ids: readonly string[]) => <BulkActs ids={ids} onAct={(act) => onBulk({ act, ids })} />
  if (view === 'tree') return <Tree {...props} onKey={onKey} bulk={bulk} />
  return (
    <DataTable
      label="VMs"
      name="vms"
      rows={vms}
      columns={vmColumns}
      rowId={idOf}
      onOpen={openVm}
      dimmed={isGone}
      initialSort={SORT}
      minWidth={620}
      viewKey={filter}
      selection={{ selected, onSelect }}
      bulk={bulk}
      onKey={onKey}
      none={none}
    />
  )
}

type TreeProps = VmsViewProps & {
  onKey: (key: string, vm: Vm) => boolean
  bulk: (ids: readonly string[]) => ReactNode
}

const TREE = { parentOf: (row: TreeRow) => ('vm' in row ? row.vm.hostId : undefined) }
const membersOf = (row: TreeRow) => ('host' in row ? row.vms.map(idOf) : undefined)

function Tree({ filter, hosts, vms, selected, onSelect, onKey, bulk, none }: TreeProps) {
  const rows = useMemo(() => treeRows(hosts, vms, filter !== ''), [hosts, vms, filter])
  return (
    <DataTable
      label="VMs by host"
      name="vms-tree"
      rows={rows}
      columns={treeColumns}
      rowId={idOf}
      onOpen={(row) => ('vm' in row ? openVm(row.vm) : go({ page: 'host', id: row.id, tab: 'overview' }))}
      dimmed={(row) => 'vm' in row && isGone(row.vm)}
      initialSort={SORT}
      minWidth={620}
      viewKey={filter}
      tree={TREE}
      selection={{ selected, onSelect, membersOf }}
      bulk={bulk}
      onKey={(key, row) => 'vm' in row && onKey(key, row.vm)}
      none={none}
    />
  )
}

/** Keys of one row: e edit, c console, p publish a port. */
function useRowKeys(): (key: string, vm: Vm) => boolean {
  const sheets = useVmSheets()
  return useCallback(
    (key, vm) => {
      const can = vmActions(vm)
      if (key === 'e' && can.edit) sheets.edit(vm)
      else if (key === 'c' && can.console) go({ page: 'vm', id: vm.id, tab: 'console' })
      else if (key === 'p' && can.publish) openPublish(vm)
      else return false
      return true
    },
    [sheets],
  )
}
