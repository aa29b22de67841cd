import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { useAudit } from '../../api/queries.ts'
import { formatAgo, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { auditSentence } from './view-model.ts'

/** The newest entries about a VM, a host, or everything. */
export function AuditList({
  vm,
  host,
  limit,
  filter,
}: {
  vm?: string
  host?: string
  limit: number
  filter?: (entry: AuditEntry) => boolean
}) {
  const { data, isError, refetch } = useAudit({ ...(vm ? { vm } : {}), ...(host ? { host } : {}) }, limit)
  if (isError)
    return (
      <p className="flex items-center gap-3 text-dim">
        The record could not be read.
        <Button size="small" onClick={() => void refetch()}>
          Try again
        </Button>
      </p>
    )
  if (!data) return <p className="text-faint">Reading the record…</p>
  const entries = (filter ? data.entries.filter(filter) : data.entries).slice(0, limit)
  if (entries.length === 0) return <p className="text-faint">Nothing has happened yet.</p>
  return (
    <ul className="grid">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
    </ul>
  )
}

function Entry({ entry }: { entry: AuditEntry }) {
  const now = useNow()
  const vmName = useFleet((f) => f.vms.get(entry.vmId)?.name)
  const hostName = useFleet((f) => f.hosts.get(entry.hostId)?.name)
  const at = new Date(msOf(entry.at) ?? 0)
  const about = { vm: entry.detail['name'] ?? vmName, host: hostName }
  const { text, more } = auditSentence(entry, about)
  const href =
    entry.vmId && vmName
      ? hrefOf({ page: 'vm', id: entry.vmId, tab: 'overview' })
      : entry.hostId && hostName
        ? hrefOf({ page: 'host', id: entry.hostId, tab: 'overview' })
        : undefined
  return (
    <li className="flex items-baseline gap-4 border-line border-b py-1.5 last:border-b-0">
      <time dateTime={at.toISOString()} title={at.toISOString()} className="w-36 shrink-0 text-faint">
        {formatTime(at, new Date(now))}
      </time>
      <span className="min-w-0 flex-1">
        {href ? (
          <a href={href} className="hover:underline">
            {text}
          </a>
        ) : (
          text
        )}
        {more && <span className="text-faint"> · {more}</span>}
      </span>
      <span className="shrink-0 text-faint text-xs">{formatAgo(at, new Date(now))}</span>
    </li>
  )
}
