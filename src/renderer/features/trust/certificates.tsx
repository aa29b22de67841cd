import { FileBadge, Plus } from 'lucide-react'
import { useMemo } from 'react'
import type { Certificate } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { formatMoment, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { Answer } from './answer.tsx'
import { useAuthorities, useCertificates } from './queries.ts'
import { openTrustSheet } from './trust-sheets.ts'
import { type CaNames, caNameOf, caNames, certificateWord, isRetired } from './view-model.ts'

export function IssueButton() {
  return (
    <Button look="primary" onClick={() => openTrustSheet({ sheet: 'issue' })}>
      <Plus size={15} aria-hidden />
      Issue a certificate
    </Button>
  )
}

export function Certificates() {
  const query = useCertificates()
  const cas = useAuthorities().data
  const columns = useMemo(() => columnsOf(caNames(cas ?? [])), [cas])
  return (
    <Answer query={query} waiting="Asking for the certificates…">
      {(certificates) =>
        certificates.length === 0 ? (
          <EmptyState icon={FileBadge} title="Nothing is certified yet">
            <p>
              {cas === undefined
                ? ''
                : `${plural(cas.filter((ca) => !isRetired(ca)).length, 'CA')} ${cas.length === 1 ? 'was' : 'were'} made for you. `}
              A certificate is made by itself for each login, and for each guest that boots.
            </p>
            <IssueButton />
          </EmptyState>
        ) : (
          <DataTable
            label="Certificates"
            rows={certificates}
            columns={columns}
            rowId={(one) => one.serial}
            onOpen={askToRevoke}
            dimmed={(one) => (msOf(one.validBefore) ?? 0) < Date.now()}
            initialSort={{ id: 'issued', desc: true }}
            minWidth={640}
            name="certificates"
          />
        )
      }
    </Answer>
  )
}

/** One of a guest is renewed by itself, and refused by retiring its authority. */
const mayBeRevoked = ({ kind, revokedAt, validBefore }: Certificate): boolean =>
  kind === 'user' && !revokedAt && (msOf(validBefore) ?? 0) > Date.now()

const askToRevoke = (one: Certificate): void => {
  if (mayBeRevoked(one)) openTrustSheet({ sheet: 'revoke', serial: one.serial, about: one.keyId })
}

const columnsOf = (names: CaNames): TableColumn<Certificate>[] => [
  {
    id: 'state',
    header: 'State',
    width: '246px',
    sort: (one) => msOf(one.validBefore),
    cell: (one) => <WordCell one={one} />,
  },
  {
    id: 'for',
    header: 'For',
    width: 'auto',
    fixed: true,
    sort: (one) => one.principals.join(' '),
    cell: (one) => <ForCell one={one} />,
  },
  {
    id: 'kind',
    header: 'Of',
    width: '96px',
    sort: (one) => one.kind,
    cell: (one) => (one.kind === 'host' ? 'a guest' : 'a person'),
  },
  {
    id: 'until',
    header: 'Valid',
    width: '230px',
    from: 'middle',
    sort: (one) => msOf(one.validAfter),
    cell: (one) => <SpanCell one={one} />,
  },
  {
    id: 'ca',
    header: 'Signed by',
    width: '130px',
    from: 'middle',
    sort: (one) => caNameOf(names, one.caFingerprint),
    cell: (one) => <span title={one.caFingerprint}>{caNameOf(names, one.caFingerprint)}</span>,
  },
  {
    id: 'serial',
    header: 'Serial',
    width: '200px',
    from: 'wide',
    sort: (one) => Number(one.serial),
    cell: (one) => (
      <span className="flex items-center gap-1">
        <code className="truncate font-mono text-xs">{one.serial}</code>
        <CopyButton text={one.serial} label={`Copy serial ${one.serial}`} />
      </span>
    ),
  },
  {
    id: 'issued',
    header: 'Issued',
    width: '120px',
    from: 'wide',
    sort: (one) => msOf(one.issuedAt),
    cell: (one) => <MomentCell at={msOf(one.issuedAt)} />,
  },
  {
    id: 'actions',
    header: 'Actions',
    width: '72px',
    align: 'right',
    fixed: true,
    cell: (one) => <CertificateMenu one={one} />,
  },
]

const WordCell = ({ one }: { one: Certificate }) => <StateWord state={certificateWord(one, useNow())} />

function ForCell({ one }: { one: Certificate }) {
  const vm = useVm(one.vmId)
  return (
    <span
      className="flex min-w-0 items-baseline gap-2"
      title={`${one.principals.join(', ')}\n${one.keyId}\n${one.keyFingerprint}`}
    >
      {vm && (
        <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'trust' })} className="shrink-0 font-medium hover:underline">
          {vm.name}
        </a>
      )}
      <span className="truncate text-dim text-xs">{one.principals.join(', ') || one.keyId}</span>
    </span>
  )
}

function MomentCell({ at }: { at: number | undefined }) {
  const now = useNow()
  if (at === undefined) return '–'
  return <span title={new Date(at).toISOString()}>{formatMoment(new Date(at), new Date(now))}</span>
}

function SpanCell({ one }: { one: Certificate }) {
  return (
    <span className="text-dim">
      <MomentCell at={msOf(one.validAfter)} /> to <MomentCell at={msOf(one.validBefore)} />
    </span>
  )
}

function CertificateMenu({ one }: { one: Certificate }) {
  return (
    <RowMenu
      of={`certificate ${one.serial}`}
      items={[
        { label: 'Copy the key fingerprint', onSelect: () => void navigator.clipboard.writeText(one.keyFingerprint) },
        'separator',
        { label: 'Revoke…', danger: true, disabled: !mayBeRevoked(one), onSelect: () => askToRevoke(one) },
      ]}
    />
  )
}
