import { Monitor, Server } from 'lucide-react'
import { hrefOf } from '../../routes.ts'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { setGuestClock } from './actions.ts'
import { OffsetSpark } from './offset-spark.tsx'
import { ResyncButton } from './resync-button.tsx'
import { type ClockRow, clockRank } from './view-model.ts'

const known = (text: string) => (text ? <span title={text}>{text}</span> : <span className="text-faint">–</span>)

function NameCell({ row }: { row: ClockRow }) {
  const Icon = row.kind === 'host' ? Server : Monitor
  const href =
    row.kind === 'host'
      ? hrefOf({ page: 'host', id: row.id, tab: 'overview' })
      : hrefOf({ page: 'vm', id: row.id, tab: 'clock' })
  return (
    <span className="relative flex min-w-0 items-center gap-2">
      <Icon size={14} aria-hidden className="shrink-0 text-faint" />
      <span className="sr-only">{row.kind}</span>
      <a href={href} className="truncate font-medium hover:underline">
        {row.name}
      </a>
      {row.on && <span className="truncate text-faint text-xs">on {row.on}</span>}
    </span>
  )
}

function ActionCell({ row }: { row: ClockRow }) {
  const { vm } = row
  if (!vm) return null
  return <ResyncButton run={() => setGuestClock(vm)} label={`Re-sync the clock of ${row.name}`} why={row.notSettable} />
}

export const clockColumns: TableColumn<ClockRow>[] = [
  {
    id: 'state',
    header: 'Clock',
    width: '270px',
    sort: clockRank,
    cell: (row) => (
      <span className="flex min-w-0 items-center gap-2">
        <StateWord state={row.state} />
        {row.asOf && <span className="shrink-0 text-faint text-xs">as of {row.asOf}</span>}
      </span>
    ),
  },
  {
    id: 'name',
    header: 'Name',
    width: 'auto',
    fixed: true,
    sort: (row) => row.name,
    cell: (row) => <NameCell row={row} />,
  },
  { id: 'hour', header: 'Last hour', width: '118px', from: 'middle', cell: (row) => <OffsetSpark row={row} /> },
  {
    id: 'offset',
    header: 'Offset',
    width: '150px',
    from: 'widest',
    sort: (row) => row.offsetUs,
    cell: (row) => known(row.offset),
  },
  {
    id: 'breaks',
    header: 'Breaks',
    width: '230px',
    from: 'widest',
    sort: (row) => row.breaks || undefined,
    cell: (row) => known(row.breaks),
  },
  {
    id: 'resume',
    header: 'After resume',
    width: '160px',
    from: 'middle',
    sort: (row) => row.afterResume?.word,
    cell: (row) => (row.afterResume ? <StateWord state={row.afterResume} /> : known('')),
  },
  {
    id: 'source',
    header: 'Source',
    width: '170px',
    from: 'wide',
    sort: (row) => row.source || undefined,
    cell: (row) => known(row.source),
  },
  {
    id: 'kept',
    header: 'Kept by',
    width: '170px',
    from: 'widest',
    sort: (row) => row.kept || undefined,
    cell: (row) => known(row.kept),
  },
  { id: 'act', header: 'Last step', width: '200px', from: 'wide', cell: (row) => known(row.act) },
  {
    id: 'actions',
    header: 'Actions',
    width: '120px',
    fixed: true,
    align: 'right',
    cell: (row) => <ActionCell row={row} />,
  },
]
