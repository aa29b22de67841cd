import { useState } from 'react'
import { Button, buttonClass } from '../../ui/button.tsx'
import { setGuestClock } from '../clock/actions.ts'
import { reconnectHost } from '../hosts/actions.ts'
import { useHostSheets } from '../hosts/host-sheets.tsx'
import { TaskQuestionSheet } from '../tasks/task-question.tsx'
import { useVmSheets } from '../vms/vm-sheets.tsx'
import type { NeedAct } from './need.ts'

/** The one button of a line: it goes there, or does it and says that it is at work. */
export function NeedButton({ label, about, act }: { label: string; about: string; act: NeedAct }) {
  const [busy, setBusy] = useState(false)
  const [asked, setAsked] = useState(false)
  const run = useAct()
  const name = `${label}: ${about}`
  if (act.kind === 'open')
    return (
      <a href={act.href} aria-label={name} className={buttonClass('plain', 'small')}>
        {label}
      </a>
    )
  if (act.kind === 'answer')
    return (
      <>
        <Button size="small" aria-label={name} onClick={() => setAsked(true)}>
          {label}
        </Button>
        {asked && <TaskQuestionSheet task={act.task} onClose={() => setAsked(false)} />}
      </>
    )
  return (
    <Button
      size="small"
      disabled={busy}
      aria-label={name}
      onClick={() => {
        setBusy(true)
        void run(act).finally(() => setBusy(false))
      }}
    >
      {busy ? 'Asking…' : label}
    </Button>
  )
}

function useAct() {
  const hosts = useHostSheets()
  const vms = useVmSheets()
  return async (act: Exclude<NeedAct, { kind: 'open' | 'answer' }>): Promise<void> => {
    switch (act.kind) {
      case 'compare-keys':
        return hosts.compareKeys(act.host)
      case 'sign-in':
        return hosts.signIn(act.host)
      case 'take-over':
        return hosts.takeOver(act.host)
      case 'reconnect':
        return await reconnectHost(act.host)
      case 'update-agent':
        return hosts.upgrade([act.host])
      case 'resync':
        return await setGuestClock(act.vm)
      case 'adopt':
        return vms.adopt(act.vm)
    }
  }
}
