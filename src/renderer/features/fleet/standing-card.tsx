import { useMemo } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.tsx'
import { Card } from '../../ui/page.tsx'
import { type StateView, StateWord } from '../../ui/state-word.tsx'
import { useClockHeadline } from '../clock/clock-headline.tsx'
import { SOON_MS } from './host-needs.ts'

/** Host certificates of guests in one word, and who has none. */
export function certificateStanding(vms: readonly Vm[], now: number): { state: StateView; text: string } {
  const ends = vms
    .filter((vm) => !vm.deletedAt && !vm.unowned)
    .flatMap((vm) => msOf(vm.hostCertificate?.validBefore) ?? [])
  const ended = ends.filter((at) => at <= now).length
  const soon = ends.filter((at) => at > now && at - now <= SOON_MS).length
  const all = plural(ends.length, 'host certificate')
  if (ends.length === 0)
    return { state: { word: 'None yet', tone: 'unknown' }, text: 'No guest has a host certificate yet.' }
  if (ended > 0) return { state: { word: 'Expired', tone: 'bad' }, text: `${ended} of ${all} ended.` }
  if (soon > 0) return { state: { word: 'Expires soon', tone: 'warn' }, text: `${soon} of ${all} end within 14 days.` }
  return { state: { word: 'Valid', tone: 'good' }, text: `${all}, none ends within 14 days.` }
}

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
      <p className="flex items-baseline justify-between gap-3">
        <a href={href} className="font-medium hover:underline">
          {name}
        </a>
        <StateWord state={state} />
      </p>
      <p className="text-dim text-xs leading-5">{text}</p>
    </li>
  )
}
