import { cx } from '../../lib/class-names.ts'
import { useTask } from '../../state/use-fleet.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { AddHostForm } from './add-host-form.tsx'
import { AddHostProgress } from './add-host-progress.tsx'

const STEPS: [string, string][] = [
  ['Read config', 'what ssh itself would use for this name'],
  ['Reach address', 'a TCP connection, nothing more'],
  ['Check host key', 'you see it and accept it, or it is known'],
  ['Sign in', 'ssh-agent, key, passphrase or password'],
  ['Look at host', 'system, virtualisation, disk, packages'],
  ['Install agent', 'one file, checked by its SHA-256'],
  ['Start agent', 'as a service where there is one'],
  ['First report', 'the host says who it is and what it has'],
]

export function AddHostPage({ taskId }: { taskId: string }) {
  const task = useTask(taskId)
  return (
    <Page title={<PageTitle>{taskId === '' ? 'Add a host over SSH' : 'Adding a host'}</PageTitle>}>
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg px-6 py-6">
        <div className={cx('mx-auto grid gap-6', taskId === '' ? 'max-w-4xl lg:grid-cols-[1fr_19rem]' : 'max-w-2xl')}>
          {taskId === '' ? <AddHostForm /> : <AddHostProgress task={task} />}
          {taskId === '' && <WhatWillHappen />}
        </div>
      </div>
    </Page>
  )
}

function WhatWillHappen() {
  return (
    <aside aria-label="What will happen" className="h-fit rounded-lg border border-line bg-panel p-4">
      <h2 className="mb-2 font-medium text-dim text-xs">What will happen, in order</h2>
      <ol className="flex flex-col gap-2">
        {STEPS.map(([name, text], i) => (
          <li key={name} className="flex gap-2.5">
            <span aria-hidden className="w-4 shrink-0 text-right text-faint">
              {i + 1}
            </span>
            <span>
              {name}
              <span className="block text-faint text-xs">{text}</span>
            </span>
          </li>
        ))}
      </ol>
    </aside>
  )
}
