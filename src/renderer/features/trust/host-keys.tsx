import { Server } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatDate } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { go, hrefOf } from '../../routes.ts'
import { useScopedHosts } from '../../state/scope.ts'
import { buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { hostKeyState, verifiedWords } from './host-key-view.ts'
import { usePinnedKeys } from './queries.ts'

export function HostKeys() {
  const hosts = useScopedHosts()
  return hosts.length === 0 ? (
    <EmptyState icon={Server} title="No host keys yet">
      <p>The key of a host is pinned when you add it, and compared at every connection after that.</p>
      <a href={hrefOf({ page: 'add-host', taskId: '' })} className={buttonClass('primary')}>
        Add a host
      </a>
    </EmptyState>
  ) : (
    <DataTable
      label="Host keys"
      rows={hosts}
      columns={columns}
      rowId={(host) => host.id}
      onOpen={(host) => go({ page: 'host', id: host.id, tab: 'ssh' })}
      initialSort={{ id: 'state', desc: false }}
      minWidth={560}
      name="host-keys"
    />
  )
}

const columns: TableColumn<Host>[] = [
  {
    id: 'state',
    header: 'Key',
    width: '150px',
    sort: (host) => hostKeyState(host).rank,
    cell: (host) => <StateWord state={hostKeyState(host)} />,
  },
  {
    id: 'host',
    header: 'Host',
    width: '180px',
    fixed: true,
    sort: (host) => host.name,
    cell: (host) => (
      <a href={hrefOf({ page: 'host', id: host.id, tab: 'ssh' })} className="font-medium hover:underline">
        {host.name}
      </a>
    ),
  },
  {
    id: 'fingerprint',
    header: 'Fingerprint',
    width: 'auto',
    sort: (host) => host.hostKeyFingerprint || undefined,
    cell: (host) => <FingerprintCell host={host} />,
  },
  { id: 'how', header: 'Verified', width: '230px', from: 'middle', cell: (host) => <VerifiedCell host={host} /> },
  { id: 'seen', header: 'First seen', width: '120px', from: 'middle', cell: (host) => <FirstSeenCell host={host} /> },
]

function FingerprintCell({ host }: { host: Host }) {
  const text = host.hostKeyFingerprint
  if (text === '')
    return <span className="text-faint">{host.kind === 'ssh' ? 'none is pinned' : 'this computer, no SSH'}</span>
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="truncate font-mono text-xs" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={`Copy the fingerprint of ${host.name}`} />
    </span>
  )
}

const usePinned = (host: Host) => usePinnedKeys(host.id, host.kind === 'ssh').data

function VerifiedCell({ host }: { host: Host }) {
  const keys = usePinned(host)
  if (host.kind !== 'ssh') return <span className="text-faint">–</span>
  return <span className="text-dim">{keys ? verifiedWords(host, keys) : 'asking…'}</span>
}

function FirstSeenCell({ host }: { host: Host }) {
  const keys = usePinned(host)
  const pinned = keys?.find(({ fingerprint }) => fingerprint === host.hostKeyFingerprint) ?? keys?.[0]
  const at = msOf(pinned?.firstSeen)
  return at === undefined ? (
    <span className="text-faint">–</span>
  ) : (
    <span title={new Date(at).toISOString()}>{formatDate(new Date(at))}</span>
  )
}
