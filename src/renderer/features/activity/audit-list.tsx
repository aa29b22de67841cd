import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { useAudit } from '../../api/queries.ts'
import { cx } from '../../lib/class-names.ts'
import { formatAgo, formatClock, formatDay, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { whoWords } from './entries.ts'
import { EntryResult } from './entry-result.tsx'
import { auditSentence } from './view-model.ts'

/** The newest entries about a VM, a host, or everything. */
export function AuditList({
  vm,
  host,
  limit,
  filter,
  brief = false,
}: {
  vm?: string
  host?: string
  limit: number
  filter?: (entry: AuditEntry) => boolean
  /** Who, what and how it ended alone; the details are on the page of all. */
  brief?: boolean
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
    <ul className="@container grid">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} brief={brief} />
      ))}
    </ul>
  )
}

/** `14:02` today, the day before that. */
const shortTime = (at: Date, now: Date) =>
  at.toDateString() === now.toDateString() ? formatClock(at).slice(0, 5) : formatDay(at)

function Entry({ entry, brief }: { entry: AuditEntry; brief: boolean }) {
  const now = useNow()
  const vmName = useFleet((f) => f.vms.get(entry.vmId)?.name)
  const hostName = useFleet((f) => f.hosts.get(entry.hostId)?.name)
  const at = new Date(msOf(entry.at) ?? 0)
  const about = { vm: entry.detail['name'] ?? vmName, host: hostName }
  const { text, more } = auditSentence(entry, about)
  const note = brief ? '' : more
  const href =
    entry.vmId && vmName
      ? hrefOf({ page: 'vm', id: entry.vmId, tab: 'overview' })
      : entry.hostId && hostName
        ? hrefOf({ page: 'host', id: entry.hostId, tab: 'overview' })
        : undefined
  return (
    <li className="flex items-baseline gap-3 border-line border-b py-1.5 last:border-b-0">
      <time
        dateTime={at.toISOString()}
        title={at.toISOString()}
        className={cx('shrink-0 text-faint', brief ? 'w-13' : 'w-36')}
      >
        {brief ? shortTime(at, new Date(now)) : formatTime(at, new Date(now))}
      </time>
      {brief && (
        <span className="hidden w-16 shrink-0 truncate text-dim @min-[480px]:inline" title={whoWords(entry)}>
          {entry.user === '' ? whoWords(entry) : printable(entry.user)}
        </span>
      )}
      <span className="min-w-0 flex-1">
        {href ? (
          <a href={href} className="hover:underline">
            {text}
          </a>
        ) : (
          text
        )}
        {note && <span className="text-faint"> · {note}</span>}
      </span>
      <EntryResult entry={entry} className={cx('h-5', brief && 'w-36')} />
      {!brief && (
        <span className="hidden w-20 shrink-0 text-right text-faint text-xs @min-[560px]:inline">
          {formatAgo(at, new Date(now))}
        </span>
      )}
    </li>
  )
}
