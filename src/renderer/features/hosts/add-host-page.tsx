import { Laptop, Ticket } from 'lucide-react'
import { useInfo } from '../../api/queries.ts'
import { cx } from '../../lib/class-names.ts'
import { useHosts, useTask } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { addThisComputer } from './actions.ts'
import { AddHostForm } from './add-host-form.tsx'
import { AddHostProgress } from './add-host-progress.tsx'
import { useHostSheets } from './host-sheets.tsx'
import { STEP_TEXT } from './onboarding-view.ts'

export function AddHostPage({ taskId }: { taskId: string }) {
  const task = useTask(taskId)
  return (
    <Page title={<PageTitle>{taskId === '' ? 'Add a host over SSH' : 'Adding a host'}</PageTitle>}>
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg px-6 py-6">
        <div className={cx('mx-auto grid gap-6', taskId === '' ? 'max-w-4xl lg:grid-cols-[1fr_19rem]' : 'max-w-2xl')}>
          {taskId === '' ? <AddHostForm /> : <AddHostProgress task={task} />}
          {taskId === '' && (
            <div className="grid h-fit gap-4">
              <WhatWillHappen />
              <OtherWays />
            </div>
          )}
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
        {STEP_TEXT.map(([name, text], i) => (
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

function OtherWays() {
  const { data: info } = useInfo()
  const sheets = useHostSheets()
  const hasLocal = useHosts().some(({ kind }) => kind === 'local')
  return (
    <aside aria-label="Other ways" className="grid h-fit gap-2 rounded-lg border border-line bg-panel p-4">
      <h2 className="font-medium text-dim text-xs">Other ways</h2>
      {info?.localHostPossible && !hasLocal && (
        <Button onClick={() => void addThisComputer()}>
          <Laptop size={14} aria-hidden />
          Use this computer
        </Button>
      )}
      <Button onClick={sheets.join}>
        <Ticket size={14} aria-hidden />
        Join by a blob…
      </Button>
      <p className="text-faint text-xs">A blob is for a host you cannot sign in to from here.</p>
    </aside>
  )
}
