import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useScope } from '../../state/scope.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Page, PageTitle } from '../../ui/page.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { isCurrent } from '../hosts/view-model.ts'
import { capacityOf } from './capacity.ts'
import { CapacityCard } from './capacity-card.tsx'
import { NeedsList } from './needs-list.tsx'
import { healthWords, needsOf } from './needs-you.ts'
import { QuarantineCard } from './quarantine-card.tsx'
import { RunningCard } from './running-card.tsx'
import { StandingCard } from './standing-card.tsx'
import { useFleetFacts } from './use-fleet-facts.ts'

const RECENT = 8

export function FleetPage() {
  const facts = useFleetFacts()
  const { hosts, vms, tasks, nowMs } = facts
  const needs = useMemo(() => needsOf(facts), [facts])
  const capacity = useMemo(() => capacityOf(hosts), [hosts])
  const scope = useScope()
  const answering = hosts.filter(isCurrent).length
  return (
    <Page
      title={<PageTitle>Fleet</PageTitle>}
      actions={
        <a href={hrefOf({ page: 'create-vm', host: '' })} className={buttonClass('primary')}>
          <Plus size={15} aria-hidden />
          Create VM
        </a>
      }
    >
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
        <div className="mx-auto grid max-w-6xl gap-4">
          <p className="flex flex-wrap items-baseline justify-between gap-x-4 text-base">
            <span role="status" className="font-medium">
              {healthWords({ answering, all: hosts.length }, needs.length)}
            </span>
            <AsOf />
          </p>
          <NeedsList needs={needs} />
          <CapacityCard capacity={capacity} />
          <RunningCard tasks={tasks} vms={vms} now={nowMs} />
          <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
            <Card
              title="Recent"
              actions={
                <a href={hrefOf({ page: 'activity', filter: '' })} className="text-accent text-xs hover:underline">
                  All activity
                </a>
              }
            >
              <AuditList brief limit={RECENT} {...(scope.kind === 'host' ? { host: scope.id } : {})} />
            </Card>
            <div className="grid gap-4">
              <QuarantineCard vms={vms} now={nowMs} />
              <StandingCard vms={vms} now={nowMs} />
            </div>
          </div>
        </div>
      </div>
    </Page>
  )
}

/** The moment of the newest report, or since when nobody tells any more. */
function AsOf() {
  const feed = useFleet((f) => f.feed)
  const newest = useFleet((f) => Math.max(0, ...[...f.hosts.values()].map((host) => msOf(host.lastSeenAt) ?? 0)))
  const at = feed.state === 'lost' ? feed.since : newest
  if (at === 0) return null
  return (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()} className="text-faint text-xs">
      {feed.state === 'lost' ? 'last known, ' : ''}as of {formatTime(new Date(at), new Date())}
    </time>
  )
}
