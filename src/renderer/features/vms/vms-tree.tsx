import { hrefOf } from '../../routes.ts'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { hostState } from '../hosts/view-model.ts'
import { hostCounts, type TreeRow } from './tree-rows.ts'
import { vmColumns } from './vms-table.tsx'

function HostName({ row }: { row: Extract<TreeRow, { vms: unknown }> }) {
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <a
        href={hrefOf({ page: 'host', id: row.id, tab: 'overview' })}
        className="max-w-full shrink-0 truncate font-semibold hover:underline"
      >
        {row.name}
      </a>
      <span className="truncate text-faint text-xs">{hostCounts(row.vms)}</span>
    </span>
  )
}

/** The columns of the list, the name first: it carries the branches. */
const order = [
  'name',
  'state',
  ...vmColumns.map(({ id }) => id).filter((id) => !['name', 'state', 'host'].includes(id)),
]

export const treeColumns: TableColumn<TreeRow>[] = order.flatMap((id) => {
  const column = vmColumns.find((c) => c.id === id)
  if (!column) return []
  const { sort, cell, ...rest } = column
  const ofHost = (row: Extract<TreeRow, { vms: unknown }>) => {
    if (id === 'name') return <HostName row={row} />
    return id === 'state' ? <StateWord state={hostState(row.host, Date.now())} /> : null
  }
  return [
    {
      ...rest,
      ...(sort ? { sort: (row: TreeRow) => ('vm' in row ? sort(row.vm) : row.name) } : {}),
      cell: (row: TreeRow) => ('vm' in row ? cell(row.vm) : ofHost(row)),
    },
  ]
})
