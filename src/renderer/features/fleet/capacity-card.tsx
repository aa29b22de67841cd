import { plural } from '../../lib/format.ts'
import { Card } from '../../ui/page.tsx'
import type { Capacity } from './capacity.ts'
import { PoolBar } from './pool-bar.tsx'

/** Used, promised and free over all hosts. */
export function CapacityCard({ capacity }: { capacity: Capacity }) {
  const { pools, untold, silent } = capacity
  const known = pools.some(({ total }) => total > 0)
  const notes = [
    untold > 0
      ? `${plural(untold, 'host has', 'hosts have')} not said what ${untold === 1 ? 'it has' : 'they have'}: not counted.`
      : '',
    silent > 0
      ? `What ${plural(silent, 'host', 'hosts')} out of reach ${silent === 1 ? 'uses' : 'use'} is unknown: not counted as in use.`
      : '',
  ].filter(Boolean)
  return (
    <Card title="Capacity">
      {known ? (
        <div className="grid gap-x-8 gap-y-4 sm:grid-cols-3">
          {pools.map((pool) => (
            <PoolBar key={pool.what} pool={pool} />
          ))}
        </div>
      ) : (
        <p className="text-dim">No host has said yet what it has.</p>
      )}
      {known && (
        <p className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-1 text-faint text-xs">
          <Legend className="bg-accent" text="in use" />
          <Legend className="bg-accent/35" text="promised to VMs" />
          <Legend className="border border-line-strong/60 bg-sunken" text="free" />
          {notes.map((note) => (
            <span key={note}>{note}</span>
          ))}
        </p>
      )}
    </Card>
  )
}

const Legend = ({ className, text }: { className: string; text: string }) => (
  <span className="inline-flex items-center gap-1.5">
    <span aria-hidden className={`size-2.5 rounded-sm ${className}`} />
    {text}
  </span>
)
