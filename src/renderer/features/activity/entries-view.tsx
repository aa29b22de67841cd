import { type KeyboardEvent, useMemo, useState } from 'react'
import { plural } from '../../lib/format.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import type { ActivityQuery } from './audit-query.ts'
import { byDay, matching } from './entries.ts'
import { EntryRow } from './entry-row.tsx'
import { MAX_PAGES, NAMES, useTrail } from './use-trail.ts'

/** Everything that was done, newest first, under its day; older entries when they are asked for. */
export function EntriesView({ query, filter }: { query: ActivityQuery; filter: string }) {
  const { data, isError, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useTrail(query.trail)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const today = Math.floor(useNow() / 60_000) * 60_000
  const read = useMemo(() => data?.pages.flatMap(({ entries }) => entries) ?? [], [data])
  const shown = useMemo(() => matching(read, query.rest, NAMES), [read, query.rest])
  const days = useMemo(() => byDay(shown, today), [shown, today])
  if (isError && !data)
    return (
      <p className="flex flex-wrap items-center gap-3 text-dim">
        The record could not be read. Nothing was changed.
        <Button size="small" onClick={() => void refetch()}>
          Try again
        </Button>
      </p>
    )
  if (!data)
    return (
      <p className="text-faint" role="status">
        Reading the record…
      </p>
    )
  const toggle = (id: string) => {
    const next = new Set(open)
    if (!next.delete(id)) next.add(id)
    setOpen(next)
  }
  const full = data.pages.length >= MAX_PAGES && data.pages.at(-1)?.nextBeforeId !== ''
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the rows inside bubble up to here
    <div onKeyDown={moveAmongRows} className="@container grid gap-4">
      {days.map(({ title, entries }) => (
        <section key={title} aria-label={title} className="min-w-0 rounded-lg border border-line bg-panel">
          <h2 className="sticky top-0 z-10 flex justify-between rounded-t-lg border-line border-b bg-panel px-4 py-2 font-medium text-dim text-xs">
            {title}
            <span className="font-normal text-faint">{plural(entries.length, 'entry', 'entries')}</span>
          </h2>
          <ul className="px-2 py-1">
            {entries.map((entry) => (
              <EntryRow
                key={entry.id}
                entry={entry}
                names={NAMES}
                filter={filter}
                open={open.has(entry.id)}
                onToggle={() => toggle(entry.id)}
              />
            ))}
          </ul>
        </section>
      ))}
      {shown.length === 0 && (
        <p className="py-6 text-center text-dim">
          {read.length === 0
            ? filter === ''
              ? 'Nothing has happened yet.'
              : 'Nothing in the record matches.'
            : `None of the newest ${plural(read.length, 'entry', 'entries')} matches.`}
        </p>
      )}
      <div className="flex flex-wrap items-center justify-center gap-3 text-dim">
        {hasNextPage ? (
          <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {isFetchingNextPage ? 'Reading older entries…' : 'Show older'}
          </Button>
        ) : full ? (
          <span>
            {plural(read.length, 'entry is', 'entries are')} shown, and there are older ones. Narrow the filter, or
            export them.
          </span>
        ) : (
          read.length > 0 && <span className="text-faint text-xs">Nothing older is kept.</span>
        )}
      </div>
    </div>
  )
}

/** Arrows go from entry to entry, Enter opens one. */
function moveAmongRows(event: KeyboardEvent<HTMLElement>): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (by === undefined || !(event.target instanceof HTMLElement) || event.target.dataset['entry'] === undefined) return
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-entry]')]
  const next = rows[rows.indexOf(event.target) + by]
  if (!next) return
  event.preventDefault()
  next.focus()
}
