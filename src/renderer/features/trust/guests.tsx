import { Monitor } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { Ca, VmTrust } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { msOf } from '../../lib/timestamp.ts'
import { go, hrefOf, replaceRoute, useRoute } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFilteredRows } from '../../state/use-filtered.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { Answer } from './answer.tsx'
import { useAuthorities, useGuestTrust } from './queries.ts'
import { rotationOf } from './rotation.ts'
import { openTrustSheet } from './trust-sheets.ts'
import {
  type CaKind,
  type CaNames,
  caNameOf,
  caNames,
  certificateWord,
  entryState,
  GUEST_FILTER_FIELDS,
  guestFilterRecord,
  listState,
} from './view-model.ts'

export function Guests() {
  const query = useGuestTrust()
  const cas = useAuthorities()
  return (
    <Answer query={query} waiting="Asking which guest trusts whom…">
      {(guests) =>
        guests.length === 0 ? (
          <EmptyState icon={Monitor} title="No guests yet">
            <p>
              Every VM you create trusts the authorities that are there then, and gets a certificate for its own key.
            </p>
          </EmptyState>
        ) : (
          <GuestList key={cas.dataUpdatedAt === 0 ? 'unnamed' : 'named'} guests={guests} cas={cas.data ?? []} />
        )
      }
    </Answer>
  )
}

const setFilter = (filter: string) => replaceRoute({ page: 'trust', tab: 'guests', filter })

function GuestList({ guests, cas }: { guests: VmTrust[]; cas: Ca[] }) {
  const route = useRoute()
  const filter = route.page === 'trust' ? (route.filter ?? '') : ''
  const names = useMemo(() => caNames(cas), [cas])
  const [record] = useState(() => (guest: VmTrust) => guestFilterRecord(guest, names))
  const shown = useFilteredRows(guests, { filter, fields: GUEST_FILTER_FIELDS, record })
  const columns = useMemo(() => columnsOf(names), [names])
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2 border-line border-b px-5 py-2">
        <FilterBox
          value={filter}
          onFilter={setFilter}
          fields={GUEST_FILTER_FIELDS}
          example='entry:"cut off" -list:newest'
          list=""
          values={(field) =>
            [...new Set(guests.slice(0, 500).map((guest) => record(guest)[field] ?? ''))].filter(Boolean)
          }
        />
        <Progress kind="user" cas={cas} guests={guests} />
        <Progress kind="host" cas={cas} guests={guests} />
      </div>
      {shown.length === 0 ? (
        <EmptyState icon={Monitor} title="No guest matches">
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <DataTable
          label="Guests and what they trust"
          rows={shown}
          columns={columns}
          rowId={(guest) => guest.vmId}
          onOpen={(guest) => go({ page: 'vm', id: guest.vmId, tab: 'trust' })}
          initialSort={{ id: 'entry', desc: true }}
          minWidth={620}
          name="trust-guests"
          viewKey={filter}
        />
      )}
    </>
  )
}

/** How far a change of authority is, where one is under way. */
function Progress({ kind, cas, guests }: { kind: CaKind; cas: Ca[]; guests: VmTrust[] }) {
  const { next, old, done, total } = useMemo(() => rotationOf(kind, cas, guests), [kind, cas, guests])
  if (!next || !old) return null
  return (
    <button
      type="button"
      className="min-h-6 text-dim hover:text-ink hover:underline"
      onClick={() => openTrustSheet({ sheet: 'rotate', kind })}
    >
      {next.name} {kind === 'user' ? 'is trusted by' : 'certified'} {done} of {total}
    </button>
  )
}

const columnsOf = (names: CaNames): TableColumn<VmTrust>[] => [
  {
    id: 'entry',
    header: 'Gets people in',
    width: '150px',
    sort: (guest) => (guest.cutOff ? 1 : 0),
    cell: (guest) => <StateWord state={entryState(guest)} />,
  },
  {
    id: 'vm',
    header: 'VM',
    width: 'auto',
    fixed: true,
    sort: (guest) => guest.vmName,
    cell: (guest) => (
      <a href={hrefOf({ page: 'vm', id: guest.vmId, tab: 'trust' })} className="font-medium hover:underline">
        {guest.vmName}
      </a>
    ),
  },
  {
    id: 'trusts',
    header: 'Trusts',
    width: '220px',
    sort: (guest) => guest.userCas.map((one) => caNameOf(names, one)).join(' '),
    cell: (guest) =>
      guest.userCas.length === 0 ? (
        <span className="text-faint">not recorded</span>
      ) : (
        <span title={guest.userCas.join('\n')}>{guest.userCas.map((one) => caNameOf(names, one)).join(', ')}</span>
      ),
  },
  {
    id: 'signed',
    header: 'Host certificate of',
    width: '150px',
    from: 'middle',
    sort: (guest) => (guest.hostCa === '' ? undefined : caNameOf(names, guest.hostCa)),
    cell: (guest) =>
      guest.hostCa === '' ? (
        <span className="text-faint">none</span>
      ) : (
        <span title={guest.hostCa}>{caNameOf(names, guest.hostCa)}</span>
      ),
  },
  {
    id: 'until',
    header: 'It is',
    width: '160px',
    from: 'wide',
    sort: (guest) => msOf(guest.hostCertificateEndsAt),
    cell: (guest) => <UntilCell guest={guest} />,
  },
  {
    id: 'list',
    header: 'Revoked list',
    width: '150px',
    sort: (guest) => listState(guest).word,
    cell: (guest) => <StateWord state={listState(guest)} />,
  },
]

function UntilCell({ guest }: { guest: VmTrust }) {
  const now = useNow()
  return guest.hostCertificateEndsAt === undefined ? (
    <span className="text-faint">–</span>
  ) : (
    <StateWord state={certificateWord({ validBefore: guest.hostCertificateEndsAt }, now)} />
  )
}
