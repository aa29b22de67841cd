import { cx } from '../lib/class-names.ts'

export interface Part {
  id: string
  label: string
  href: string
  /** Shown behind the label. Absent = nothing is counted. */
  count?: number
  /** Something in it needs a person; said in words there. */
  mark?: boolean
}

/** The parts of an object, one line of links under its title. */
export function PartLinks({ of, parts, here }: { of: string; parts: readonly Part[]; here: string }) {
  return (
    <nav aria-label={`Parts of ${of}`} className="flex min-h-9 shrink-0 flex-wrap gap-x-1 border-line border-b px-4">
      {parts.map(({ id, label, href, count, mark }) => (
        <a
          key={id}
          href={href}
          {...(id === here ? { 'aria-current': 'page' as const } : {})}
          className={cx(
            '-mb-px flex h-9 items-center gap-1 border-b-2 px-2.5',
            id === here ? 'border-accent font-medium text-ink' : 'border-transparent text-dim hover:text-ink',
          )}
        >
          {label}
          {count !== undefined && count > 0 && <span className="text-faint text-xs">{count}</span>}
          {mark && (
            <span aria-hidden className="font-semibold text-warn">
              !
            </span>
          )}
        </a>
      ))}
    </nav>
  )
}
