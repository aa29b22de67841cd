import { useState } from 'react'
import type { Network } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { hrefOf } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { type AddressRow, addressRows, kindWords, networkState } from './view-model.ts'

/** What of a network's addresses is shown at once, and once more is asked for. */
const SHOWN = 8
const SHOWN_OPEN = 1000

/** One network of a host, with every address on it. */
export function NetworkCard({ network, now }: { network: Network; now: number }) {
  const rows = addressRows(network, now)
  const { name, cidr, bridge, gateway, detail } = network
  return (
    <section aria-label={`Network ${name} of ${network.hostName}`} className="min-w-0 rounded-lg border border-line">
      <header className="flex items-center justify-between gap-3 border-line border-b px-4 py-2">
        <h3 className="truncate font-medium">{name}</h3>
        <StateWord state={networkState(network)} />
      </header>
      <div className="grid gap-3 p-4">
        <Facts
          rows={[
            ['Kind', kindWords(network)],
            ...(cidr ? ([['Subnet', <Mono key="cidr" text={cidr} />]] satisfies [string, React.ReactNode][]) : []),
            ...(bridge
              ? ([['Bridge', <Mono key="bridge" text={bridge} />]] satisfies [string, React.ReactNode][])
              : []),
            ...(gateway ? ([['Gateway', <Mono key="gw" text={gateway} />]] satisfies [string, React.ReactNode][]) : []),
          ]}
        />
        {detail !== '' && <p className="text-dim">{detail}</p>}
        {rows.length === 0 ? <p className="text-faint">No VM is on it.</p> : <Addresses rows={rows} of={name} />}
      </div>
    </section>
  )
}

const Mono = ({ text }: { text: string }) => <code className="font-mono text-xs">{text}</code>

function Addresses({ rows, of }: { rows: readonly AddressRow[]; of: string }) {
  const [open, setOpen] = useState(false)
  const shown = open ? SHOWN_OPEN : SHOWN
  return (
    <div className={open ? 'max-h-96 overflow-auto' : 'overflow-x-auto'}>
      <table className="w-full min-w-[420px] text-left" aria-label={`Addresses on ${of}`}>
        <thead>
          <tr className="text-faint text-xs">
            <th className="py-1 pr-3 font-medium">VM</th>
            <th className="py-1 pr-3 font-medium">Address</th>
            <th className="py-1 font-medium">Known from</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row) => (
            <tr key={row.key} className="border-line border-t align-baseline">
              <td className="max-w-48 truncate py-1 pr-3">
                {row.vmId === '' ? (
                  <span className="text-faint">{row.name}</span>
                ) : (
                  <a href={hrefOf({ page: 'vm', id: row.vmId, tab: 'overview' })} className="hover:underline">
                    {row.name}
                  </a>
                )}
              </td>
              <td className="py-1 pr-3" title={row.mac}>
                {row.ip === '' ? (
                  <span className="text-faint">not known yet</span>
                ) : (
                  <span className="inline-flex items-center gap-1">
                    <Mono text={row.ip} />
                    <CopyButton text={row.ip} label={`Copy the address of ${row.name}`} />
                  </span>
                )}
              </td>
              <td className="py-1 text-dim">{row.source}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > SHOWN_OPEN && open && (
        <p className="pt-2 text-faint text-xs">{rows.length - SHOWN_OPEN} more are not shown.</p>
      )}
      {rows.length > SHOWN && (
        <Button size="small" look="quiet" className="mt-1" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Show fewer' : `Show all ${rows.length}`}
        </Button>
      )}
    </div>
  )
}
