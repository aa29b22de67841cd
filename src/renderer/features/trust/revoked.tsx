import { Ban } from 'lucide-react'
import { useMemo } from 'react'
import type { RevokedCertificate } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { formatMoment } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { Answer } from './answer.tsx'
import { useAuthorities, useGuestTrust, useRevokedList } from './queries.ts'
import { openTrustSheet } from './trust-sheets.ts'
import { type CaNames, caNameOf, caNames, listProgress } from './view-model.ts'

export function RevokeButton() {
  return <Button onClick={() => openTrustSheet({ sheet: 'revoke', serial: '', about: '' })}>Revoke another…</Button>
}

export function Revoked() {
  const query = useRevokedList()
  const cas = useAuthorities().data
  const columns = useMemo(() => columnsOf(caNames(cas ?? [])), [cas])
  return (
    <Answer query={query} waiting="Asking what is revoked…">
      {({ revoked, krlSha256 }) =>
        revoked.length === 0 ? (
          <EmptyState icon={Ban} title="Nothing is revoked">
            <p>
              Certificates of people end by themselves after half an hour. Revoke one when its key is lost: running
              guests are given the list of what they refuse.
            </p>
          </EmptyState>
        ) : (
          <>
            <TheList digest={krlSha256} />
            <DataTable
              label="Revoked certificates"
              rows={revoked}
              columns={columns}
              rowId={(one) => `${one.caFingerprint} ${one.serial}`}
              onOpen={() => undefined}
              initialSort={{ id: 'at', desc: true }}
              minWidth={520}
              name="revoked"
            />
          </>
        )
      }
    </Answer>
  )
}

/** The list as guests get it, and how many hold it. */
function TheList({ digest }: { digest: string }) {
  const guests = useGuestTrust().data
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-1 border-line border-b px-5 py-2.5">
      <span className="flex min-w-0 items-center gap-1">
        <span className="text-faint">List (SHA-256)</span>
        <code className="truncate font-mono text-xs" title={digest}>
          {digest.slice(0, 16)}…
        </code>
        <CopyButton text={digest} label="Copy the digest of the list" />
      </span>
      <span className="text-dim">
        {guests ? (
          <a href={hrefOf({ page: 'trust', tab: 'guests' })} className="hover:underline">
            {listProgress(guests)}
          </a>
        ) : (
          'Asking which guests hold it…'
        )}
      </span>
      <span className="text-faint text-xs">
        It goes to each host with its VMs, and from there into guests that run; the others get it when they start.
      </span>
    </div>
  )
}

const columnsOf = (names: CaNames): TableColumn<RevokedCertificate>[] => [
  {
    id: 'serial',
    header: 'Serial',
    width: '230px',
    fixed: true,
    sort: (one) => Number(one.serial),
    cell: (one) => (
      <span className="flex items-center gap-1">
        <code className="truncate font-mono text-xs">{one.serial}</code>
        <CopyButton text={one.serial} label={`Copy serial ${one.serial}`} />
      </span>
    ),
  },
  {
    id: 'reason',
    header: 'Reason',
    width: 'auto',
    sort: (one) => one.reason,
    cell: (one) => one.reason || <span className="text-faint">none given</span>,
  },
  {
    id: 'ca',
    header: 'Of',
    width: '160px',
    sort: (one) => caNameOf(names, one.caFingerprint),
    cell: (one) => (one.caFingerprint === '' ? 'any authority' : caNameOf(names, one.caFingerprint)),
  },
  {
    id: 'at',
    header: 'Revoked',
    width: '140px',
    sort: (one) => msOf(one.revokedAt),
    cell: (one) => <AtCell at={msOf(one.revokedAt)} />,
  },
]

function AtCell({ at }: { at: number | undefined }) {
  const now = useNow()
  return at === undefined ? (
    '–'
  ) : (
    <span title={new Date(at).toISOString()}>{formatMoment(new Date(at), new Date(now))}</span>
  )
}
