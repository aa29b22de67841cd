import type { ReactNode } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatAgo, formatMemoryBytes, formatPermille } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useIsChecking } from '../../state/checking.ts'
import { useNow, useNowAs } from '../../state/now.ts'
import { Meter } from '../../ui/progress.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { hostClockView } from '../clock/view-model.ts'
import { labelText } from '../vms/labels-text.ts'
import { stateRank } from '../vms/view-model.ts'
import { isOutdated } from './host-filter.ts'
import { HostMenu } from './host-menu.tsx'
import { asOf, hostState, hostUse, isCurrent, type Share } from './view-model.ts'

export function HostState({ host, strong }: { host: Host; strong?: boolean }) {
  const checking = useIsChecking(host.id)
  return <StateWord state={hostState(host, useNow())} checking={checking} {...(strong ? { strong } : {})} />
}

const none = <span className="text-faint">–</span>

/** What was last told: grey, with its age, while it is not what is. */
function Told({ host, children }: { host: Host; children: ReactNode }) {
  const age = useNowAs((now) => (isCurrent(host) ? undefined : asOf(host, now)))
  if (age === undefined) return children
  return (
    <span className="text-faint" title={age}>
      {children}
    </span>
  )
}

function ShareCell({
  host,
  share,
  text,
  label,
}: {
  host: Host
  share: Share | undefined
  text: string
  label: string
}) {
  if (!share) return none
  return (
    <Told host={host}>
      <Meter {...share} text={text} label={label} calm />
    </Told>
  )
}

function CpuCell({ host }: { host: Host }) {
  const { cpu } = hostUse(host)
  const text = cpu ? formatPermille(cpu.used) : ''
  return <ShareCell host={host} share={cpu} text={text} label="CPU in use" />
}

function MemoryCell({ host }: { host: Host }) {
  const { memory } = hostUse(host)
  const text = memory ? formatMemoryBytes(memory.used) : ''
  const label = memory ? `Memory in use, of ${formatMemoryBytes(memory.total)}` : ''
  return <ShareCell host={host} share={memory} text={text} label={label} />
}

function NameCell({ host }: { host: Host }) {
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <a
        href={hrefOf({ page: 'host', id: host.id, tab: 'overview' })}
        title={host.name}
        className="truncate font-medium hover:underline"
      >
        {host.name}
      </a>
      {host.status === 'decommissioning' && <span className="text-faint text-xs">being removed</span>}
      {host.draining !== '' && (
        <span
          title="draining"
          className="min-w-0 shrink-[999] truncate rounded border border-line px-1 text-warn text-xs"
        >
          draining
        </span>
      )}
    </span>
  )
}

function AgentCell({ host }: { host: Host }) {
  if (host.agentVersion === '') return none
  return (
    <span className="flex items-baseline gap-1.5">
      {host.agentVersion}
      {host.pendingUpgrade ? (
        <span className="text-info text-xs">→ {host.pendingUpgrade.version}</span>
      ) : (
        isOutdated(host) && <span className="text-warn text-xs">outdated</span>
      )}
    </span>
  )
}

function LabelsCell({ host }: { host: Host }) {
  const labels = Object.entries(host.labels).map(labelText)
  if (labels.length === 0) return none
  return (
    <span className="text-dim" title={labels.join(', ')}>
      {labels.join(', ')}
    </span>
  )
}

function LastSeenCell({ host }: { host: Host }) {
  const at = msOf(host.lastSeenAt)
  const text = useNowAs((now) => (at === undefined ? undefined : formatAgo(new Date(at), new Date(now))))
  if (at === undefined) return <span className="text-faint">never</span>
  return <span title={new Date(at).toISOString()}>{text}</span>
}

export const hostColumns: TableColumn<Host>[] = [
  {
    id: 'state',
    header: 'State',
    width: '276px',
    sort: (h) => stateRank(hostState(h, Date.now())),
    cell: (h) => <HostState host={h} />,
  },
  { id: 'name', header: 'Name', width: '14%', fixed: true, sort: (h) => h.name, cell: (h) => <NameCell host={h} /> },
  {
    id: 'address',
    header: 'Address',
    width: 'auto',
    from: 'middle',
    sort: (h) => h.address,
    cell: (h) =>
      h.address ? <span title={h.address}>{h.address}</span> : <span className="text-faint">this computer</span>,
  },
  {
    id: 'os',
    header: 'System',
    width: '104px',
    from: 'widest',
    sort: (h) => h.os || undefined,
    cell: (h) => h.os || none,
  },
  {
    id: 'arch',
    header: 'Arch',
    width: '80px',
    from: 'widest',
    sort: (h) => h.arch || undefined,
    cell: (h) => h.arch || none,
  },
  {
    id: 'agent',
    header: 'Agent',
    width: '122px',
    from: 'widest',
    sort: (h) => h.agentVersion || undefined,
    cell: (h) => <AgentCell host={h} />,
  },
  { id: 'vms', header: 'VMs', width: '66px', align: 'right', sort: (h) => h.vms, cell: (h) => h.vms },
  {
    id: 'cpu',
    header: 'CPU',
    width: '116px',
    from: 'middle',
    sort: (h) => hostUse(h).cpu?.used,
    cell: (h) => <CpuCell host={h} />,
  },
  {
    id: 'memory',
    header: 'Memory',
    width: '146px',
    from: 'middle',
    sort: (h) => hostUse(h).memory?.used,
    cell: (h) => <MemoryCell host={h} />,
  },
  {
    id: 'disk',
    header: 'Disk free',
    width: '86px',
    from: 'wide',
    align: 'right',
    sort: (h) => (h.metrics?.diskFreeBytes === undefined ? undefined : Number(h.metrics.diskFreeBytes)),
    cell: (h) =>
      h.metrics?.diskFreeBytes === undefined ? (
        none
      ) : (
        <Told host={h}>{formatMemoryBytes(h.metrics.diskFreeBytes)}</Told>
      ),
  },
  {
    id: 'clock',
    header: 'Clock',
    width: '148px',
    from: 'wide',
    sort: (h) => hostClockView(h).word,
    cell: (h) => <StateWord state={hostClockView(h)} />,
  },
  {
    id: 'seen',
    header: 'Last seen',
    width: '92px',
    from: 'widest',
    sort: (h) => msOf(h.lastSeenAt),
    cell: (h) => <LastSeenCell host={h} />,
  },
  {
    id: 'labels',
    header: 'Labels',
    width: '108px',
    from: 'widest',
    sort: (h) => Object.entries(h.labels).map(labelText).join(', ') || undefined,
    cell: (h) => <LabelsCell host={h} />,
  },
  {
    id: 'actions',
    header: 'Actions',
    width: '64px',
    align: 'right',
    fixed: true,
    cell: (h) => <HostMenu host={h} />,
  },
]
