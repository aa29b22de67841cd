import { CheckCircle2, CircleHelp } from 'lucide-react'
import { useCallback, useEffect, useState } from 'react'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { hrefOf } from '../../routes.ts'
import { useFleet, useHost } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { cancelTask } from '../tasks/actions.ts'
import { TaskQuestionSheet } from '../tasks/task-question.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { isOpen, taskFault } from '../tasks/view-model.ts'
import { addAgain, addThisComputer, LOCAL_HOST_NAME } from './actions.ts'
import { draftName, EMPTY_DRAFT, lastDraft, rememberDraft } from './add-host-draft.ts'
import { StepMore } from './add-host-steps.tsx'
import { KvmNote } from './kvm-note.tsx'
import { acceptedKey, failedStep, leftWords } from './onboarding-view.ts'

export function AddHostProgress({ task }: { task: Task | undefined }) {
  const told = useFleet((f) => f.revision !== undefined)
  const [closed, setClosed] = useState<string>()
  const done = task?.state === 'done'
  useEffect(() => {
    if (done) rememberDraft(EMPTY_DRAFT)
  }, [done])
  if (!task)
    return (
      <EmptyState icon={CircleHelp} title={told ? 'This task is not kept any more' : 'Reading the fleet'}>
        <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
          Go to hosts
        </a>
      </EmptyState>
    )
  const fault = taskFault(task)
  const questionOpen = task.question !== undefined && closed !== task.question.id
  return (
    <section aria-label={`Adding ${task.subject}`} className="h-fit rounded-lg border border-line bg-panel p-5">
      <header className="mb-2 flex items-center justify-between gap-3">
        <h2 className="font-semibold text-base">{HEADLINE[task.state]?.(task.subject) ?? task.subject}</h2>
        {task.state === 'asking' && !questionOpen && (
          <Button look="primary" onClick={() => setClosed(undefined)}>
            Answer the question
          </Button>
        )}
      </header>
      <TaskSteps task={task} more={(step) => <StepMore step={step} />} />
      {fault && (
        <div className="mt-3">
          <FaultNotice fault={fault} />
        </div>
      )}
      <Foot task={task} />
      {questionOpen && <TaskQuestionSheet task={task} onClose={() => setClosed(task.question?.id)} />}
    </section>
  )
}

const HEADLINE: Record<string, (name: string) => string> = {
  running: (n) => `Adding ${n}`,
  asking: (n) => `Adding ${n}: one question for you`,
  done: (n) => `${n} is in your fleet`,
  failed: (n) => `${n} was not added`,
  cancelled: (n) => `Adding ${n} was cancelled`,
}

const AGAIN =
  'Try again begins with the first step, for what was seen then may have changed; an accepted key is not asked again.'

function Foot({ task }: { task: Task }) {
  if (isOpen(task))
    return (
      <footer className="mt-4 flex items-center justify-between gap-3">
        <p className="text-faint text-xs">You can leave this screen; it goes on. Cancel removes what was put there.</p>
        <Button onClick={() => void cancelTask(task)}>Cancel</Button>
      </footer>
    )
  if (task.state === 'done') return <DoneFoot task={task} />
  const failed = failedStep(task)
  return (
    <footer className="mt-4 flex flex-wrap items-center justify-end gap-2">
      <p className="mr-auto text-dim text-xs">
        {leftWords(task)} {failed && `It stopped at "${failed.name}"; what you typed is kept.`} {AGAIN}
      </p>
      <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
        Go to hosts
      </a>
      <a href={hrefOf({ page: 'add-host', taskId: '' })} className={buttonClass('plain')}>
        Change what I typed
      </a>
      <Again task={task} />
    </footer>
  )
}

/** The next move; Enter makes it, unless the person is somewhere else by now. */
function DoneFoot({ task }: { task: Task }) {
  const vms = useFleet((f) => f.vms.size > 0)
  const first = useCallback((link: HTMLElement | null) => {
    if (document.activeElement === document.body || document.activeElement?.matches('main')) link?.focus()
  }, [])
  const host = useHost(task.resultId)
  return (
    <>
      {host && (
        <div className="mt-3 empty:hidden">
          <KvmNote host={host} />
        </div>
      )}
      <footer className="mt-4 flex flex-wrap items-center gap-2">
        <span className="mr-auto flex items-center gap-1.5 text-good">
          <CheckCircle2 size={15} aria-hidden /> Ready for VMs
        </span>
        <a href={hrefOf({ page: 'host', id: task.resultId, tab: 'overview' })} className={buttonClass('plain')}>
          Open the host
        </a>
        <a ref={first} href={hrefOf({ page: 'create-vm', host: task.resultId })} className={buttonClass('primary')}>
          {vms ? 'Create a VM' : 'Create your first VM'}
        </a>
      </footer>
    </>
  )
}

/** The same again at once: what is known by now, such as an accepted key, is not asked again. */
function Again({ task }: { task: Task }) {
  const name = task.subject
  const [busy, setBusy] = useState(false)
  const draft = lastDraft()
  const local = name === LOCAL_HOST_NAME
  const again = async () => {
    setBusy(true)
    await (local ? addThisComputer() : addAgain(draft, acceptedKey(task)))
    setBusy(false)
  }
  if (!local && (draft.target === '' || draftName(draft) !== name)) return null
  return (
    <Button look="primary" disabled={busy} onClick={() => void again()}>
      Try again
    </Button>
  )
}
