import { Check, CircleDashed, Minus, X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Task, TaskStep } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { cx } from '../../lib/class-names.ts'
import { useNow } from '../../state/now.ts'
import { ProgressBar } from '../../ui/progress.tsx'
import { stepBytes, stepElapsed, stepFraction } from './view-model.ts'

const MARK = {
  waiting: { icon: null, className: 'border border-line text-faint', word: 'waiting' },
  running: {
    icon: CircleDashed,
    className: 'text-info motion-safe:animate-[spin_4s_linear_infinite]',
    word: 'running',
  },
  done: { icon: Check, className: 'bg-good/12 text-good', word: 'done' },
  failed: { icon: X, className: 'bg-bad/12 text-bad', word: 'failed' },
  skipped: { icon: Minus, className: 'bg-sunken text-faint', word: 'skipped' },
} as const

/** The steps of a task in order, each with its own time, detail and bytes; `more` stands under each. */
export function TaskSteps({ task, more }: { task: Task; more?: (step: TaskStep) => ReactNode }) {
  const now = useNow()
  const asking = task.state === 'asking'
  return (
    <ol aria-label="Steps" className="flex flex-col">
      {task.steps.map((step, i) => (
        <Step key={step.name} step={step} number={i + 1} now={now} asking={asking && step.state === 'running'}>
          {more?.(step)}
        </Step>
      ))}
    </ol>
  )
}

interface StepProps {
  step: TaskStep
  number: number
  now: number
  asking: boolean
  children?: ReactNode
}

function Step({ step, number, now, asking, children }: StepProps) {
  const mark = MARK[step.state as keyof typeof MARK] ?? MARK.waiting
  const Icon = mark.icon
  const fraction = step.state === 'running' ? stepFraction(step) : undefined
  const detail = [asking ? 'needs your answer' : step.detail, step.state === 'running' ? stepBytes(step) : undefined]
  return (
    <li className="flex gap-3 border-line border-b py-2.5 last:border-b-0">
      <span
        className={cx('mt-px flex size-5 shrink-0 items-center justify-center rounded-full text-xs', mark.className)}
        aria-hidden
      >
        {Icon ? <Icon size={Icon === CircleDashed ? 18 : 13} strokeWidth={2.5} /> : number}
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex items-baseline justify-between gap-3">
          <span className={cx(step.state === 'waiting' || step.state === 'skipped' ? 'text-faint' : 'font-medium')}>
            {step.name}
            <span className="sr-only">: {asking ? 'needs your answer' : mark.word}</span>
          </span>
          <span className="text-faint text-xs">{stepElapsed(step, now)}</span>
        </div>
        {detail.some(Boolean) && (
          <p className={cx('break-words text-xs leading-5', asking ? 'text-warn' : 'text-dim')}>
            {detail.filter(Boolean).join(' · ')}
          </p>
        )}
        {fraction !== undefined && (
          <div className="mt-1.5">
            <ProgressBar fraction={fraction} label={step.name} />
          </div>
        )}
        {children}
      </div>
    </li>
  )
}
