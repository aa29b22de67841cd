import { Check, TriangleAlert, X } from 'lucide-react'
import type { TaskCheck, TaskFact, TaskStep } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { cx } from '../../lib/class-names.ts'
import { CopyText } from '../../ui/copy-text.tsx'
import { showsLog } from './onboarding-view.ts'

/** What a step looked at, put where and said, under its line. */
export function StepMore({ step }: { step: TaskStep }) {
  return (
    <>
      {step.checks.length > 0 && <Checks checks={step.checks} />}
      {step.facts.length > 0 && <FactList facts={step.facts} />}
      {step.script !== '' && (
        <details className="mt-1.5">
          <summary className="min-h-6 w-fit text-accent text-xs leading-6">Show script</summary>
          <Block text={step.script} label={`Script of ${step.name}`} />
        </details>
      )}
      {step.log.length > 1 && (
        <details className="mt-1" open={showsLog(step)} key={showsLog(step) ? 'open' : 'closed'}>
          <summary className="min-h-6 w-fit text-dim text-xs leading-6">Log ({step.log.length} lines)</summary>
          <Block text={step.log.join('\n')} label={`Log of ${step.name}`} />
        </details>
      )}
    </>
  )
}

const BLOCK = 'mt-1 max-h-48 overflow-auto rounded-md border border-line bg-bg px-3 py-2'

function Block({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and holds no control has to be reached by keys
    <section aria-label={label} tabIndex={0} className={BLOCK}>
      <pre className="whitespace-pre-wrap break-words font-mono text-xs leading-5">{text}</pre>
    </section>
  )
}

const CHECK = {
  ok: { icon: Check, className: 'text-good', word: 'well' },
  note: { icon: TriangleAlert, className: 'text-warn', word: 'note' },
  failed: { icon: X, className: 'text-bad', word: 'not well' },
} as const

function Checks({ checks }: { checks: readonly TaskCheck[] }) {
  return (
    <ul aria-label="What was looked at" className="mt-1.5 grid gap-1">
      {checks.map((check) => {
        const mark = CHECK[check.state as keyof typeof CHECK] ?? CHECK.note
        const Icon = mark.icon
        return (
          <li key={check.name} className="grid grid-cols-[1rem_6.5rem_1fr] gap-x-2 text-xs leading-5">
            <Icon size={13} strokeWidth={2.5} aria-hidden className={cx('mt-1', mark.className)} />
            <span>
              {check.name}
              <span className="sr-only">, {mark.word}</span>
            </span>
            <span className={cx('min-w-0 break-words', check.state === 'ok' ? 'text-dim' : mark.className)}>
              {check.detail}
              {check.command !== '' && (
                <span className="mt-1 block text-ink">
                  <CopyText text={check.command} label="Copy the command" />
                </span>
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

function FactList({ facts }: { facts: readonly TaskFact[] }) {
  return (
    <dl className="mt-1.5 grid grid-cols-[6.5rem_1fr] gap-x-2 text-xs leading-5">
      {facts.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className={cx('min-w-0 break-words', name === 'Checksum' && 'font-mono')}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
