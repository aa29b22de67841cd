import { useMemo } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { hrefOf } from '../../routes.ts'
import { Card } from '../../ui/page.tsx'
import { type StateView, StateWord } from '../../ui/state-word.tsx'
import { useClockHeadline } from '../clock/clock-headline.tsx'
import { certificateStanding } from './certificate-standing.ts'

/** Clocks and certificates: what breaks everything else when it is wrong. */
export function StandingCard({ vms, now }: { vms: readonly Vm[]; now: number }) {
  const clock = useClockHeadline()
  const clockWord = { good: 'In step', warn: 'Check', bad: 'Off', unknown: 'Not reported' }[clock.tone]
  const minute = Math.floor(now / 60_000) * 60_000
  const certificates = useMemo(() => certificateStanding(vms, minute), [vms, minute])
  return (
    <Card title="Clocks and certificates">
      <ul className="-my-1 grid">
        <Standing
          href={hrefOf({ page: 'clock', filter: '' })}
          name="Clock"
          state={{ word: clockWord, tone: clock.tone }}
          text={clock.text}
        />
        <Standing
          href={hrefOf({ page: 'trust', tab: 'guests' })}
          name="Certificates"
          state={certificates.state}
          text={certificates.text}
        />
      </ul>
    </Card>
  )
}

function Standing({ href, name, state, text }: { href: string; name: string; state: StateView; text: string }) {
  return (
    <li className="border-line border-b py-2 last:border-b-0">
      <p className="flex items-center justify-between gap-3">
        <a href={href} className="font-medium hover:underline">
          {name}
        </a>
        <StateWord state={state} />
      </p>
      <p className="text-dim text-xs leading-5">{text}</p>
    </li>
  )
}
