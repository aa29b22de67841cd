import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { hrefOf } from '../../routes.ts'
import { fleetStore } from '../../state/fleet-store.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { moveTo, unpublish } from './actions.ts'
import { probe } from './probes.ts'
import { ReachCell } from './reach-cell.tsx'
import { leadsTo, nextFree, portState, publishedAt, sessionWords, shortReason } from './view-model.ts'

const none = <span className="text-faint">–</span>
const free = (port: Port) => nextFree(fleetStore.getState().ports.values(), port)

const published: TableColumn<Port> = {
  id: 'published',
  header: 'Published',
  width: '196px',
  fixed: true,
  sort: (p) => p.hostPort,
  cell: (p) => (
    <span className="flex items-center gap-1">
      <span className="truncate font-medium">{publishedAt(p)}</span>
      <CopyButton text={publishedAt(p)} label={`Copy ${publishedAt(p)}`} />
    </span>
  ),
}

const state: TableColumn<Port> = {
  id: 'state',
  header: 'State',
  width: 'auto',
  sort: (p) => portState(p).word,
  cell: (p) => <PortStateCell port={p} />,
}

const sessions: TableColumn<Port> = {
  id: 'sessions',
  header: 'Connections',
  width: '180px',
  from: 'wide',
  sort: (p) => (p.sessions ? Number(p.sessions.active) : undefined),
  cell: (p) => sessionWords(p) ?? none,
}

const reach: TableColumn<Port> = {
  id: 'scope',
  header: 'Open to',
  width: '130px',
  from: 'wide',
  sort: (p) => p.scope,
  cell: (p) => (p.scope === 'loopback' ? 'host only' : 'network'),
}

const reached: TableColumn<Port> = {
  id: 'reached',
  header: 'Reached',
  width: '186px',
  from: 'middle',
  cell: (p) => <ReachCell port={p} />,
}

const actions: TableColumn<Port> = {
  id: 'actions',
  header: 'Actions',
  width: '72px',
  fixed: true,
  align: 'right',
  cell: (p) => <PortMenu port={p} />,
}

/** Of one VM: the host and the guest's port. */
export const vmPortColumns: TableColumn<Port>[] = [
  published,
  {
    id: 'guest',
    header: 'Guest port',
    width: '120px',
    sort: (p) => p.guestPort,
    cell: (p) => leadsTo(p).split(':')[1],
  },
  state,
  reached,
  sessions,
  reach,
  actions,
]

export const portColumns: TableColumn<Port>[] = [
  published,
  {
    id: 'vm',
    header: 'Leads to',
    width: '152px',
    sort: (p) => leadsTo(p),
    cell: (p) => (
      <a href={hrefOf({ page: 'vm', id: p.vmId, tab: 'ports' })} className="hover:underline">
        {leadsTo(p)}
      </a>
    ),
  },
  { id: 'host', header: 'Host', width: '110px', from: 'middle', sort: (p) => p.hostName, cell: (p) => p.hostName },
  state,
  reached,
  sessions,
  reach,
  actions,
]

function PortStateCell({ port }: { port: Port }) {
  const shown = portState(port)
  const other = port.state === 'failed' && !port.hostUnknown ? free(port) : undefined
  return (
    <span className="flex min-w-0 items-center gap-2">
      <span className="shrink-0">
        <StateWord state={shown} />
      </span>
      {shown.detail && (
        <span className="truncate text-dim text-xs" title={shown.detail}>
          {shortReason(port)}
        </span>
      )}
      {other !== undefined && (
        <Button size="small" onClick={() => void moveTo(port, other)}>
          Use {other}
        </Button>
      )}
    </span>
  )
}

function PortMenu({ port }: { port: Port }) {
  const other = free(port)
  return (
    <RowMenu
      of={publishedAt(port)}
      items={[
        { label: 'Try to reach it', onSelect: () => void probe(port) },
        { label: 'Copy the address', onSelect: () => void navigator.clipboard.writeText(publishedAt(port)) },
        ...(other === undefined ? [] : [{ label: `Use ${other} instead`, onSelect: () => void moveTo(port, other) }]),
        'separator' as const,
        { label: 'Unpublish', danger: true, onSelect: () => void unpublish(port) },
      ]}
    />
  )
}
