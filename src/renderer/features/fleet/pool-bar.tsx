import { type Pool, poolWords } from './capacity.ts'

/** What is in use, promised and free of one resource, as a bar and in words. */
export function PoolBar({ pool }: { pool: Pool }) {
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
