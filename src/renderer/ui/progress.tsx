/** A measured bar; it stops short of the end until the fact is confirmed. */
export function ProgressBar({ fraction, label }: { fraction: number; label: string }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(fraction * 100)}
      className="h-1.5 overflow-hidden rounded-full bg-sunken"
    >
      <div
        className="h-full rounded-full bg-info transition-[width] duration-300"
        style={{ width: `${Math.min(99, fraction * 100)}%` }}
      />
    </div>
  )
}

/** A share of something: used of total. `calm` where being full is nothing to worry about. */
export function Meter({
  used,
  total,
  label,
  text,
  calm = false,
}: {
  used: number
  total: number
  label: string
  text: string
  calm?: boolean
}) {
  const share = total > 0 ? used / total : 0
  return (
    <div className="flex items-center gap-2" title={label}>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={Math.min(used, total)}
        className="h-1.5 w-12 shrink-0 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={`h-full rounded-full ${share > 0.9 && !calm ? 'bg-warn' : 'bg-line-strong'}`}
          style={{ width: `${Math.min(100, share * 100)}%` }}
        />
      </div>
      <span className="truncate">{text}</span>
    </div>
  )
}
