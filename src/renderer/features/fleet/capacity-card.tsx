import { plural } from '../../lib/format.ts'
import { Card } from '../../ui/page.tsx'
import { type Capacity, type Pool, poolWords } from './capacity.ts'

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

function PoolBar({ pool }: { pool: Pool }) {
  const words = poolWords(pool)
  const share = (n: number) => `${Math.min(100, pool.total > 0 ? (n / pool.total) * 100 : 0)}%`
  const label = `${pool.what}: ${words.promised}, ${words.used}, ${words.free}`
  return (
    <div className="min-w-0">
      <div className="flex items-baseline justify-between gap-3">
        <span className="font-medium">{pool.what}</span>
        <span className={words.over ? 'font-medium text-warn' : 'text-dim'}>{words.free}</span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={pool.total}
        aria-valuenow={Math.min(pool.promised, pool.total)}
        aria-valuetext={label}
        className="relative mt-1.5 h-2.5 overflow-hidden rounded-full border border-line-strong/60 bg-sunken"
      >
        <div
          className={`absolute inset-y-0 left-0 ${words.over ? 'bg-warn/45' : 'bg-accent/35'}`}
          style={{ width: share(pool.promised) }}
        />
        {pool.used !== undefined && (
          <div
            className={`absolute inset-y-0 left-0 rounded-r-full ${words.over ? 'bg-warn' : 'bg-accent'}`}
            style={{ width: share(pool.used) }}
          />
        )}
      </div>
      <p className="mt-1 flex flex-wrap gap-x-2 text-dim text-xs leading-5">
        <span>{words.promised}</span>
        <span>{words.used}</span>
      </p>
    </div>
  )
}
