import { CLOCK_POLICIES } from '../../../ipc/clock-policy.ts'
import { breaksAt, guestClockState, offsetFrom, POLICY_NOT_REACHED, policyWords } from '../../../ipc/clock-words.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useHost } from '../../state/use-fleet.ts'
import { SelectField } from '../../ui/field.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { VmClockChart } from '../metrics/vm-charts.tsx'
import { setClockPolicy, setGuestClock } from './actions.ts'
import { HeadlineNote } from './clock-headline.tsx'
import { ClockLimits } from './clock-limits.tsx'
import { ClockStoryCard } from './clock-story-card.tsx'
import { ResyncButton } from './resync-button.tsx'
import {
  guestClockView,
  guestRow,
  hasClock,
  hostClockView,
  isClockOld,
  sinceWords,
  whyNotSettable,
} from './view-model.ts'

/** The Clock part of a VM: how far off, what that breaks, what was done, who keeps it. */
export function GuestClockPart({ vm }: { vm: Vm }) {
  const { offMs } = guestClockState(vm.clock)
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      <Sentence vm={vm} />
      <VmClockChart vm={vm} />
      <div className="grid gap-4 lg:grid-cols-2">
        <ClockStoryCard vm={vm} />
        <Measured vm={vm} />
        <Keeper vm={vm} />
        <Card title="What breaks at which offset" className="lg:col-span-2">
          <ClockLimits offMs={isClockOld(vm) ? 0 : offMs} />
        </Card>
      </div>
    </div>
  )
}

function Sentence({ vm }: { vm: Vm }) {
  const state = guestClockState(vm.clock)
  const why = whyNotSettable(vm)
  const action = <ResyncButton run={() => setGuestClock(vm)} look="primary" why={why} label="Re-sync now" />
  const said = sentence(vm)
  const broken = breaksAt(state.offMs)
  const next = [broken.length > 0 ? `This breaks ${broken.at(-1)}.` : '', why ?? ''].filter(Boolean).join(' ')
  return <HeadlineNote headline={{ ...said, next: next || said.next }} action={hasClock(vm) ? action : undefined} />
}

function sentence(vm: Vm): { tone: 'good' | 'warn' | 'bad' | 'unknown'; text: string; next: string } {
  const { clock } = vm
  if (!hasClock(vm)) return { tone: 'unknown', text: 'It does not run: it has no clock.', next: '' }
  const { word, off } = guestClockState(clock)
  const by = clock?.offsetUs === undefined ? '' : offsetFrom(clock.offsetUs, 'its host')
  if (isClockOld(vm))
    return {
      tone: 'unknown',
      text: `Its clock is not known now. Last known: ${word.toLowerCase()}${off && ` (${off})`}.`,
      next: '',
    }
  switch (word) {
    case 'In step':
      return { tone: 'good', text: `Its clock is in step with its host (${off}).`, next: '' }
    case 'Drifting':
      return { tone: 'warn', text: `Its clock is ${by}, and drifts.`, next: '' }
    case 'Jumped':
      return {
        tone: 'bad',
        text: by
          ? `Its clock is ${by}${sinceWords(clock, Date.now())}.`
          : 'It stood still, and its clock was not seen right since.',
        next: '',
      }
    default:
      return {
        tone: 'unknown',
        text: 'Its clock is not reported.',
        next: 'That needs the guest agent (qemu-guest-agent) in it; nothing is guessed.',
      }
  }
}

function Measured({ vm }: { vm: Vm }) {
  const now = useNow()
  const host = useHost(vm.hostId)
  const row = guestRow(vm, now)
  const measuredAt = msOf(vm.clock?.measuredAt)
  const uncertainty = vm.clock?.uncertaintyUs
  return (
    <Card title="Against its host">
      <Facts
        rows={[
          ['State', <StateWord key="state" state={guestClockView(vm)} />],
          ['Offset', row.offset || 'not measured'],
          [
            'Known to within',
            uncertainty === undefined ? 'not measured' : `${Math.ceil(Number(uncertainty) / 1000)} ms`,
          ],
          ['Measured by', row.source || 'nobody'],
          ['Measured', measured(row.asOf, measuredAt, now)],
          ['Last set', row.act || 'no cause to'],
          [
            "Its host's clock",
            host ? (
              <a key="host" href={hrefOf({ page: 'host', id: host.id, tab: 'overview' })} className="hover:underline">
                <StateWord state={hostClockView(host)} />
              </a>
            ) : (
              'not known'
            ),
          ],
        ]}
      />
    </Card>
  )
}

/** What is current is measured again all the time, and told again only when it moved. */
function measured(asOf: string, at: number | undefined, now: number): string {
  if (at === undefined) return 'never'
  return asOf ? `${asOf} (${formatAgo(new Date(at), new Date(now))})` : 'within the last minutes'
}

function Keeper({ vm }: { vm: Vm }) {
  const isOurs = !vm.unowned && vm.deletedAt === undefined
  return (
    <Card title="Who keeps it">
      {isOurs ? (
        <SelectField
          label="Clock policy"
          value={vm.clockPolicy || 'auto'}
          hint={policyWords(vm.clockPolicy || 'auto')}
          onChange={(event) => void setClockPolicy(vm, event.target.value)}
        >
          {CLOCK_POLICIES.map((policy) => (
            <option key={policy} value={policy}>
              {policy}
            </option>
          ))}
        </SelectField>
      ) : (
        <p>{vm.clockPolicy || 'Not known here.'}</p>
      )}
      <p className="mt-2 text-dim">{POLICY_NOT_REACHED}</p>
    </Card>
  )
}
