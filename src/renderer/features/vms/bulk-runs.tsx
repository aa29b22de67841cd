import { ChevronDown, Undo2, X } from 'lucide-react'
import { useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { bulkVerbs } from './bulk-plan.ts'
import { type BulkItemView, bulkItemView, bulkSummary } from './bulk-progress.ts'
import { type BulkRun, dismissBulkRun, retryBulkRun, stopBulkRun, undeleteBulkRun, useBulkRuns } from './bulk-run.ts'

/** Acts on many VMs that were asked here: how far each is, what failed and what helps. */
export function BulkRuns() {
  const runs = useBulkRuns()
  if (runs.length === 0) return null
  return (
    <section aria-label="Acts on many VMs" className="shrink-0 border-line border-t bg-bg">
      {runs.map((run) => (
        <Run key={run.id} run={run} />
      ))}
    </section>
  )
}

function Run({ run }: { run: BulkRun }) {
  const now = useNow()
  const vms = useFleet((f) => f.vms)
  const views = run.items.map((item) => bulkItemView(run.act, item, vms.get(item.id), now))
  const failed = views.filter(({ step }) => step === 'failed')
  const [open, setOpen] = useState<boolean>()
  const isOpen = open ?? failed.length > 0
  const words = bulkVerbs(run.act)
  const isOver = views.every(({ step }) => step !== 'working' && step !== 'waiting')
  const refused = run.items.filter(({ asked }) => asked === 'refused').length
  const accepted = run.items.filter(({ asked }) => asked === 'accepted').length
  return (
    <div className="border-line border-b last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-5 py-1.5">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex h-7 items-center gap-1.5 rounded font-medium hover:underline"
        >
          <ChevronDown size={14} aria-hidden className={cx('transition-transform', !isOpen && '-rotate-90')} />
          {isOver ? `${words.ask}: ${plural(views.length, 'VM')}` : `${words.busy} ${plural(views.length, 'VM')}`}
        </button>
        <span role="status" className="min-w-0 flex-1 truncate text-dim">
          {bulkSummary(views, words.done)}
        </span>
        {views.some(({ step }) => step === 'waiting') && (
          <Button size="small" onClick={() => stopBulkRun(run.id)} title="What was asked already goes on">
            Ask no more
          </Button>
        )}
        {run.act.do === 'delete' && accepted > 0 && (
          <Button size="small" onClick={() => undeleteBulkRun(run)}>
            <Undo2 size={13} aria-hidden />
            Undelete all {accepted}
          </Button>
        )}
        {refused > 0 && (
          <Button size="small" onClick={() => retryBulkRun(run)}>
            Ask again for {refused}
          </Button>
        )}
        <IconButton
          label={`Dismiss: ${words.busy.toLowerCase()} ${plural(views.length, 'VM')}`}
          onClick={() => dismissBulkRun(run.id)}
        >
          <X size={14} aria-hidden />
        </IconButton>
      </div>
      {isOpen && <Items views={views} />}
    </div>
  )
}

const FIRST: Record<BulkItemView['step'], number> = { failed: 0, held: 1, working: 2, waiting: 3, skipped: 4, done: 5 }

function Items({ views }: { views: BulkItemView[] }) {
  const sorted = [...views].sort((a, b) => FIRST[a.step] - FIRST[b.step])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keys
    <ul aria-label="Each VM" tabIndex={0} className="max-h-40 overflow-y-auto border-line border-t bg-panel px-5 py-1">
      {sorted.map(({ item, tone, text, next }) => (
        <li key={item.id} className="flex items-baseline gap-3 py-0.5">
          <span className="w-48 shrink-0 truncate">
            <a href={hrefOf({ page: 'vm', id: item.id, tab: 'overview' })} className="hover:underline">
              {item.name}
            </a>{' '}
            <span className="text-faint">on {item.hostName}</span>
          </span>
          <span className="min-w-0 flex-1">
            <StateWord state={{ word: text, tone }} />
            {next && <span className="ml-2 text-dim">{next}</span>}
          </span>
        </li>
      ))}
    </ul>
  )
}
