import { Check, CircleDashed, Minus, X } from 'lucide-react'
import { lookup } from '../../../ipc/base/lookup.ts'
import type { AuditEntry, AuditStep } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatElapsed } from '../../lib/format.ts'
import { useNowAs } from '../../state/now.ts'
import { useTask } from '../../state/use-fleet.ts'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { entryFault, resultState, tookText } from './result.ts'

/** How it ended and how long it took, in a column of its own; empty where that is not known. */
export function EntryResult({ entry, className }: { entry: AuditEntry; className?: string }) {
  const state = resultState(entry)
  return (
    <span className={cx('inline-flex shrink-0 items-center gap-2 self-start', className)}>
      {state && (
        <>
          <StateWord state={state} />
          <Took entry={entry} />
        </>
      )}
    </span>
  )
}

function Took({ entry }: { entry: AuditEntry }) {
  const text = useNowAs((now) => tookText(entry, now))
  return text === '' ? null : <span className="whitespace-nowrap text-faint text-xs tabular-nums">{text}</span>
}

/** What became of it step by step, and why where it failed. */
export function EntryEnd({ entry }: { entry: AuditEntry }) {
  const task = useTask(entry.taskId)
  const fault = entryFault(entry)
  if (!task && entry.steps.length === 0 && !fault) return null
  return (
    <div className="grid max-w-2xl gap-2">
      {task ? <TaskSteps task={task} /> : entry.steps.length > 0 && <KeptSteps steps={entry.steps} />}
      {fault && <FaultNotice fault={fault} />}
    </div>
  )
}

const MARK = {
  done: { icon: Check, className: 'text-good' },
  failed: { icon: X, className: 'text-bad' },
  skipped: { icon: Minus, className: 'text-faint' },
}
const OTHER = { icon: CircleDashed, className: 'text-faint' }

/** Of a task whose row is not kept any more. */
const KeptSteps = ({ steps }: { steps: readonly AuditStep[] }) => (
  <ol aria-label="Steps" className="grid gap-0.5">
    {steps.map(({ name, state, tookMs }) => {
      const { icon: Icon, className } = lookup(MARK, state) ?? OTHER
      return (
        <li key={name} className="flex min-h-6 items-center gap-2">
          <Icon size={14} aria-hidden className={cx('shrink-0', className)} />
          <span className="min-w-0 break-words">{name}</span>
          <span className="text-faint text-xs">
            {state}
            {tookMs !== undefined && `, ${formatElapsed(Number(tookMs))}`}
          </span>
        </li>
      )
    })}
  </ol>
)
