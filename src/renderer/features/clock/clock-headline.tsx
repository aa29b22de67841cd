import { AlertTriangle, CheckCircle2, CircleHelp, XCircle } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ClockHeadline, GuestTally } from '../../../ipc/clock-headline.ts'
import { cx } from '../../lib/class-names.ts'
import { hrefOf } from '../../routes.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { rowsOf, useFleetShallow } from '../../state/use-fleet.ts'
import { TONE_TEXT } from '../../ui/state-word.tsx'
import { GuestTallies } from './guest-tallies.ts'
import { headlineOf, stripWord } from './view-model.ts'

const tallies = new GuestTallies()
let made: { hosts: unknown; guests: GuestTally; headline: ClockHeadline } | undefined

/** Asked at every change of the fleet, of which hardly any is one of clocks. */
function headlineNow({ hosts, vms }: FleetSnapshot): ClockHeadline {
  const guests = tallies.update(rowsOf(vms))
  if (made?.hosts !== hosts || made.guests !== guests)
    made = { hosts, guests, headline: headlineOf(hosts.values(), guests) }
  return made.headline
}

export const useClockHeadline = (): ClockHeadline => useFleetShallow(headlineNow)

const ICONS = { good: CheckCircle2, warn: AlertTriangle, bad: XCircle, unknown: CircleHelp }
const FRAME = {
  good: 'border-line bg-panel',
  unknown: 'border-line bg-panel',
  warn: 'border-warn/40 bg-warn/6',
  bad: 'border-bad/40 bg-bad/6',
}

/** The one thing to know, and the next move. */
export function HeadlineNote({ headline, action }: { headline: ClockHeadline; action?: ReactNode }) {
  const { tone, text, next } = headline
  const Icon = ICONS[tone]
  return (
    <div role="status" className={cx('flex items-start gap-2.5 rounded-lg border px-3 py-2.5', FRAME[tone])}>
      <Icon size={16} aria-hidden className={cx('mt-0.5 shrink-0', TONE_TEXT[tone])} />
      <div className="min-w-0 flex-1 break-words">
        <p className="font-medium">{text}</p>
        {next && <p className="text-dim">{next}</p>}
      </div>
      {action}
    </div>
  )
}

/** Word in the strip below every page; nothing while no host is there. */
export function ClockStrip() {
  const headline = useClockHeadline()
  const hosts = useFleetShallow((f) => f.hosts.size)
  if (hosts === 0 || headline.tone === 'unknown') return null
  const Icon = ICONS[headline.tone]
  return (
    <a
      href={hrefOf({ page: 'clock', filter: '' })}
      title={headline.text}
      className="flex items-center gap-1.5 hover:text-ink hover:underline"
    >
      <Icon size={13} aria-hidden className={TONE_TEXT[headline.tone]} />
      {stripWord(headline)}
    </a>
  )
}
