import { MoreHorizontal } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatAgo, formatMemory, formatMemoryBytes } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { go, hrefOf } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Meter } from '../../ui/progress.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { stateRank } from '../vms/view-model.ts'
import { reconnectHost } from './actions.ts'
import { useHostSheets } from './host-sheets.tsx'
import { UseCell } from './host-use.tsx'
import { hostState, hostUse, isCurrent, offeredKey, ownerOf, shareOf } from './view-model.ts'

export function HostState({ host, strong }: { host: Host; strong?: boolean }) {
  return <StateWord state={hostState(host, useNow())} {...(strong ? { strong } : {})} />
}

const none = <span className="text-faint">–</span>

function ShareCell({ host, what }: { host: Host; what: 'vcpus' | 'memMb' }) {
  const share = shareOf(host, what)
  if (!share) return none
  const text =
    what === 'vcpus' ? `${share.used}/${share.total}` : `${formatMemory(share.used)}/${formatMemory(share.total)}`
  return <Meter {...share} text={text} label={what === 'vcpus' ? 'vCPUs promised to VMs' : 'Memory promised to VMs'} />
}

function LastSeenCell({ host }: { host: Host }) {
  const now = useNow()
  const at = msOf(host.lastSeenAt)
  if (at === undefined) return <span className="text-faint">never</span>
  return <span title={new Date(at).toISOString()}>{formatAgo(new Date(at), new Date(now))}</span>
}

export function HostMenu({ host }: { host: Host }) {
  const sheets = useHostSheets()
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${host.name}`} data-row-menu>
          <MoreHorizontal size={16} aria-hidden />
        </IconButton>
      }
      items={[
        { label: 'Create VM here', onSelect: () => go({ page: 'create-vm', host: host.id }) },
        { label: 'Try now', disabled: host.link === 'connected', onSelect: () => void reconnectHost(host) },
        ...(offeredKey(host) ? [{ label: 'Compare keys…', onSelect: () => sheets.compareKeys(host) }] : []),
        ...(ownerOf(host) === undefined ? [] : [{ label: 'Take over…', onSelect: () => sheets.takeOver(host) }]),
        ...(host.newerData ? [{ label: "Use this app's data…", onSelect: () => sheets.takeOver(host) }] : []),
        {
          label: 'Sign in again…',
          disabled: host.kind !== 'ssh' || host.link === 'connected',
          onSelect: () => sheets.signIn(host),
        },
        'separator',
        { label: 'Remove…', danger: true, onSelect: () => sheets.remove(host) },
      ]}
    />
  )
}

export const hostColumns: TableColumn<Host>[] = [
  {
    id: 'state',
    header: 'State',
    width: '272px',
    sort: (h) => stateRank(hostState(h, Date.now())),
    cell: (h) => <HostState host={h} />,
  },
  {
    id: 'name',
    header: 'Name',
    width: 'auto',
    sort: (h) => h.name,
    cell: (h) => (
      <span className="flex min-w-0 items-baseline gap-2">
        <a href={hrefOf({ page: 'host', id: h.id, tab: 'overview' })} className="shrink-0 font-medium hover:underline">
          {h.name}
        </a>
        <span className="truncate text-faint text-xs">
          {h.status === 'decommissioning' ? 'being removed' : [h.os, h.arch].filter(Boolean).join(' · ')}
        </span>
      </span>
    ),
  },
  {
    id: 'address',
    header: 'Address',
    width: '164px',
    from: 'middle',
    sort: (h) => h.address,
    cell: (h) =>
      h.address ? <span title={h.address}>{h.address}</span> : <span className="text-faint">this computer</span>,
  },
  { id: 'vms', header: 'VMs', width: '74px', align: 'right', sort: (h) => h.vms, cell: (h) => h.vms },
  {
    id: 'cpu',
    header: 'vCPU promised',
    width: '132px',
    from: 'middle',
    sort: (h) => shareOf(h, 'vcpus')?.used,
    cell: (h) => <ShareCell host={h} what="vcpus" />,
  },
  {
    id: 'memory',
    header: 'Memory promised',
    width: '196px',
    from: 'middle',
    sort: (h) => shareOf(h, 'memMb')?.used,
    cell: (h) => <ShareCell host={h} what="memMb" />,
  },
  {
    id: 'use',
    header: 'In use',
    width: '164px',
    from: 'wide',
    sort: (h) => hostUse(h).cpu?.used,
    cell: (h) => <UseCell host={h} />,
  },
  {
    id: 'disk',
    header: 'Disk free',
    width: '96px',
    from: 'wide',
    align: 'right',
    sort: (h) => (h.metrics?.diskFreeBytes === undefined ? undefined : Number(h.metrics.diskFreeBytes)),
    cell: (h) =>
      h.metrics?.diskFreeBytes !== undefined ? (
        <span className={isCurrent(h) ? '' : 'text-faint'}>{formatMemoryBytes(h.metrics.diskFreeBytes)}</span>
      ) : (
        none
      ),
  },
  {
    id: 'seen',
    header: 'Last seen',
    width: '110px',
    from: 'wide',
    sort: (h) => msOf(h.lastSeenAt),
    cell: (h) => <LastSeenCell host={h} />,
  },
  { id: 'actions', header: 'Actions', width: '64px', align: 'right', cell: (h) => <HostMenu host={h} /> },
]
