import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { useAudit } from '../../api/queries.ts'
import { formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { useNow } from '../../state/now.ts'
import { useHost } from '../../state/use-fleet.ts'
import { Card } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { isCurrent } from '../hosts/view-model.ts'
import { useHistory } from '../metrics/queries.ts'
import { clockStory } from './clock-story.ts'
import { hasClock } from './view-model.ts'

/** A day in minutes: turns are told to the minute. */
const DAY = { spanMs: 86_400_000, samples: 1_440 } as const

/** What happened to a guest's clock and when, over the last day. */
export function ClockStoryCard({ vm }: { vm: Vm }) {
  const host = useHost(vm.hostId)
  const isLive = host !== undefined && isCurrent(host)
  const { data: history, isPending } = useHistory({ vm: vm.id }, DAY, isLive)
  const audit = useAudit({ vm: vm.id })
  const minute = Math.floor(useNow() / 60_000) * 60_000
  const events = clockStory({
    history,
    act: vm.clock?.lastAct,
    asked: audit.data?.entries ?? [],
    startedAtMs: hasClock(vm) ? msOf(vm.startedAt) : undefined,
  })
  return (
    <Card title="What happened when" className="lg:col-span-2">
      {events.length === 0 ? (
        <p className="text-dim">{isPending && isLive ? `Asking ${vm.hostName} for the last day…` : NOTHING}</p>
      ) : (
        <ol className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1.5">
          {events.map(({ atMs, tone, text }) => (
            <li key={`${atMs} ${text}`} className="col-span-2 grid grid-cols-subgrid">
              <time className="text-faint tabular-nums" dateTime={new Date(atMs).toISOString()}>
                {formatTime(new Date(atMs), new Date(minute))}
              </time>
              <StateWord state={{ word: text, tone }} />
            </li>
          ))}
        </ol>
      )}
      {!isLive && (
        <p className="mt-2 text-faint text-xs">
          {vm.hostName} does not answer:{' '}
          {history ? 'newer turns are not known.' : 'the turns of the offset are kept there.'}
        </p>
      )}
    </Card>
  )
}

const NOTHING = 'Nothing in the last day: it was not set, and nobody saw it turn.'
