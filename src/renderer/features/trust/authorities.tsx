import { Plus, RefreshCw } from 'lucide-react'
import { useMemo } from 'react'
import type { Ca } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { formatDate } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { Menu } from '../../ui/menu.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { signWith } from './actions.ts'
import { Answer } from './answer.tsx'
import { useAuthorities } from './queries.ts'
import { openTrustSheet } from './trust-sheets.ts'
import { authoritiesInOrder, type CaKind, caState, heldWords, isRetired, signsWords } from './view-model.ts'

export function AuthorityActs() {
  return (
    <>
      <Menu
        trigger={
          <Button>
            <RefreshCw size={14} aria-hidden />
            Rotate
          </Button>
        }
        items={[
          { label: 'The one for people…', onSelect: () => openTrustSheet({ sheet: 'rotate', kind: 'user' }) },
          { label: 'The one for guests…', onSelect: () => openTrustSheet({ sheet: 'rotate', kind: 'host' }) },
        ]}
      />
      <Button onClick={() => openTrustSheet({ sheet: 'import', kind: 'user' })}>Import</Button>
      <Button look="primary" onClick={() => openTrustSheet({ sheet: 'create', kind: 'user' })}>
        <Plus size={15} aria-hidden />
        Create an authority
      </Button>
    </>
  )
}

export function Authorities() {
  const query = useAuthorities()
  return (
    <Answer query={query} waiting="Asking for the authorities…">
      {(cas) => <AuthorityTable cas={cas} />}
    </Answer>
  )
}

function AuthorityTable({ cas }: { cas: Ca[] }) {
  const order = useMemo(() => new Map(authoritiesInOrder(cas).map((ca, at) => [ca.id, at])), [cas])
  const columns = useMemo(() => columnsOf((ca) => order.get(ca.id)), [order])
  return (
    <DataTable
      label="Authorities"
      rows={cas}
      columns={columns}
      rowId={(ca) => ca.id}
      onOpen={(ca) => openTrustSheet({ sheet: 'show', ca })}
      dimmed={isRetired}
      initialSort={{ id: 'state', desc: false }}
      minWidth={620}
      name="authorities"
    />
  )
}

const columnsOf = (rank: (ca: Ca) => number | undefined): TableColumn<Ca>[] => [
  { id: 'state', header: 'State', width: '168px', sort: rank, cell: (ca) => <StateWord state={caState(ca)} /> },
  {
    id: 'name',
    header: 'Name',
    width: 'auto',
    fixed: true,
    sort: (ca) => ca.name,
    cell: (ca) => (
      <span className="flex min-w-0 items-baseline gap-2">
        <span className="shrink-0 font-medium">{ca.name}</span>
        <span className="truncate text-faint text-xs" title={ca.problem}>
          {ca.problem}
        </span>
      </span>
    ),
  },
  { id: 'kind', header: 'Signs', width: '130px', sort: (ca) => ca.kind, cell: signsWords },
  {
    id: 'used',
    header: 'Used by',
    width: '96px',
    align: 'right',
    sort: (ca) => ca.usedBy,
    cell: (ca) => `${ca.usedBy} ${ca.usedBy === 1 ? 'VM' : 'VMs'}`,
  },
  { id: 'held', header: 'Private key', width: '210px', from: 'middle', sort: heldWords, cell: heldWords },
  {
    id: 'fingerprint',
    header: 'Fingerprint',
    width: '240px',
    from: 'wide',
    cell: (ca) => (
      <span className="flex items-center gap-1">
        <code className="truncate font-mono text-xs" title={ca.fingerprint}>
          {ca.fingerprint}
        </code>
        <CopyButton text={ca.fingerprint} label={`Copy the fingerprint of ${ca.name}`} />
      </span>
    ),
  },
  {
    id: 'created',
    header: 'Made',
    width: '110px',
    from: 'wide',
    sort: (ca) => msOf(ca.createdAt),
    cell: (ca) => {
      const at = msOf(ca.createdAt)
      return at === undefined ? '–' : <span title={new Date(at).toISOString()}>{formatDate(new Date(at))}</span>
    },
  },
  { id: 'actions', header: 'Actions', width: '72px', align: 'right', fixed: true, cell: (ca) => <CaMenu ca={ca} /> },
]

function CaMenu({ ca }: { ca: Ca }) {
  const kind: CaKind = ca.kind === 'host' ? 'host' : 'user'
  return (
    <RowMenu
      of={ca.name}
      items={[
        { label: 'Show', onSelect: () => openTrustSheet({ sheet: 'show', ca }) },
        {
          label: 'Sign with it',
          disabled: ca.state === 'signing' || ca.held === 'elsewhere',
          onSelect: () => void signWith(ca),
        },
        { label: 'Rotate…', onSelect: () => openTrustSheet({ sheet: 'rotate', kind }) },
        'separator',
        {
          label: 'Retire…',
          danger: true,
          disabled: isRetired(ca),
          onSelect: () => openTrustSheet({ sheet: 'retire', ca }),
        },
      ]}
    />
  )
}
