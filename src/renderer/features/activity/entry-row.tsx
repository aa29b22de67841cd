import { ChevronRight } from 'lucide-react'
import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatClock, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { CopyButton } from '../../ui/copy-text.tsx'
import { withField } from './audit-query.ts'
import { changeHeads, changesOf } from './changes.ts'
import { entryWords, type Names, whoWords } from './entries.ts'
import { EntryEnd, EntryResult } from './entry-result.tsx'
import { resultState } from './result.ts'

/** Where the thing of an entry is; undefined = it is gone. */
function hrefOfEntry(entry: AuditEntry, names: Names): string | undefined {
  if (entry.vmId && names.vm(entry.vmId)) return hrefOf({ page: 'vm', id: entry.vmId, tab: 'overview' })
  if (entry.hostId && names.host(entry.hostId)) return hrefOf({ page: 'host', id: entry.hostId, tab: 'overview' })
  return undefined
}

interface EntryRowProps {
  entry: AuditEntry
  names: Names
  filter: string
  open: boolean
  onToggle: () => void
}

/** One entry: when, what, by whom; open, what it changed and what else came of the same request. */
export function EntryRow({ entry, names, filter, open, onToggle }: EntryRowProps) {
  const at = new Date(msOf(entry.at) ?? 0)
  const { text, more } = entryWords(entry, names)
  const href = hrefOfEntry(entry, names)
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-start gap-2 py-1 @min-[640px]:gap-3">
        <button
          type="button"
          data-entry={entry.id}
          aria-expanded={open}
          aria-label={`${open ? 'Hide' : 'Show'} details: ${text}`}
          onClick={onToggle}
          className="inline-flex size-6 shrink-0 items-center justify-center rounded text-faint hover:bg-hover hover:text-ink"
        >
          <ChevronRight size={14} aria-hidden className={cx('transition-transform', open && 'rotate-90')} />
        </button>
        <time dateTime={at.toISOString()} title={at.toISOString()} className="w-15 shrink-0 pt-0.5 text-faint">
          {formatClock(at)}
        </time>
        <span className="min-w-0 flex-1 break-words pt-0.5">
          {href ? (
            <a href={href} className="hover:underline">
              {text}
            </a>
          ) : (
            text
          )}
          {more && <span className="text-faint"> · {more}</span>}
        </span>
        <EntryResult entry={entry} className="h-6 w-38" />
        <span className="hidden w-44 shrink-0 truncate pt-1 text-faint text-xs @min-[720px]:inline">
          {whoWords(entry)}
        </span>
      </div>
      {open && <EntryDetails entry={entry} filter={filter} at={at} />}
    </li>
  )
}

function EntryDetails({ entry, filter, at }: { entry: AuditEntry; filter: string; at: Date }) {
  const narrow = (field: string, value: string, text = value) => (
    <a
      href={hrefOf({ page: 'activity', filter: withField(filter, field, value) })}
      title={`Only ${field}:${value}`}
      className="inline-flex min-h-6 items-center text-accent underline"
    >
      {printable(text)}
    </a>
  )
  const details = Object.entries(entry.detail).filter(([key, value]) => value !== '' && key !== 'took_ms')
  return (
    <div className="mb-2 ml-8 grid gap-3 rounded-md border border-line bg-bg p-3">
      <EntryEnd entry={entry} />
      <Diff entry={entry} />
      <dl className="grid grid-cols-[max-content_1fr] items-center gap-x-4 gap-y-0.5">
        <Fact name="When">{at.toISOString()}</Fact>
        <Fact name="Action">{narrow('action', entry.action)}</Fact>
        {entry.user !== '' && <Fact name="By">{narrow('user', entry.user)}</Fact>}
        {entry.client !== '' && <Fact name="From">{narrow('client', entry.client)}</Fact>}
        {entry.requestId !== '' && (
          <Fact name="Request">
            <span className="inline-flex items-center gap-1">
              {narrow('request', entry.requestId, `${shortId(entry.requestId)}…`)}
              <CopyButton text={entry.requestId} label="Copy the request's id" />
              <span className="text-faint">all that came of it</span>
            </span>
          </Fact>
        )}
        {entry.result !== '' && (
          <Fact name="Result">{narrow('result', entry.result, resultState(entry)?.word ?? entry.result)}</Fact>
        )}
        {entry.taskId !== '' && (
          <Fact name="Task">
            <span className="inline-flex items-center gap-1">
              {shortId(entry.taskId)}…
              <CopyButton text={entry.taskId} label="Copy the task's id" />
            </span>
          </Fact>
        )}
        {entry.vmId !== '' && <Fact name="VM">{narrow('vm', entry.vmId, shortId(entry.vmId))}</Fact>}
        {entry.hostId !== '' && <Fact name="Host">{narrow('host', entry.hostId, shortId(entry.hostId))}</Fact>}
        {details.map(([key, value]) => (
          <Fact key={key} name={printable(key.replaceAll('_', ' '))}>
            {printable(value)}
          </Fact>
        ))}
      </dl>
    </div>
  )
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div className="contents">
    <dt className="flex min-h-6 items-center self-start text-faint">{name}</dt>
    <dd className="min-w-0 break-words">{children}</dd>
  </div>
)

/** What changed, field by field; what was taken away and what came are marked by a sign, not by colour alone. */
function Diff({ entry }: { entry: AuditEntry }) {
  const heads = changeHeads(entry)
  const changes = changesOf(entry)
  if (!heads || changes.length === 0) return null
  const [before, after] = heads
  return (
    <table className="w-full table-fixed border-collapse">
      <caption className="sr-only">What changed</caption>
      <thead>
        <tr className="text-left text-faint text-xs">
          <th scope="col" className="w-1/4 py-1 pr-3 font-medium">
            Field
          </th>
          {before && (
            <th scope="col" className="py-1 pr-3 font-medium">
              {before}
            </th>
          )}
          {after && (
            <th scope="col" className="py-1 font-medium">
              {after}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.field} className="border-line border-t align-top">
            <th scope="row" className="break-words py-1 pr-3 text-left font-normal text-dim">
              {change.field}
            </th>
            {before && <Value sign="−" tone="text-bad" text={change.before} />}
            {after && <Value sign="+" tone="text-good" text={change.after} />}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const Value = ({ sign, tone, text }: { sign: string; tone: string; text: string }) => (
  <td className="break-words py-1 pr-3">
    {text === '' ? (
      <span className="text-faint">none</span>
    ) : (
      <>
        <span aria-hidden className={cx('mr-1 font-mono', tone)}>
          {sign}
        </span>
        {text}
      </>
    )}
  </td>
)
