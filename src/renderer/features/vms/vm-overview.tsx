import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo, formatTime, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useHost, usePorts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { ProgressBar } from '../../ui/progress.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { guestClockView, hasClock } from '../clock/view-model.ts'
import { useHostSheets } from '../hosts/host-sheets.tsx'
import { ownerOf } from '../hosts/view-model.ts'
import { VmCharts } from '../metrics/vm-charts.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { restartVm, startVm, stopVm } from './actions.ts'
import { fieldWords } from './edit-draft.ts'
import { labelsText } from './labels-text.ts'
import {
  autostartWords,
  quarantineLeft,
  toldAtMs,
  vmActions,
  vmImage,
  vmProgress,
  vmState,
  vmTrouble,
  waitingWish,
} from './view-model.ts'
import { GuestTrouble } from './vm-cloud-init.tsx'
import { useVmSheets } from './vm-sheets.tsx'
import { useRows } from './vm-use.tsx'

export function VmOverview({ vm }: { vm: Vm }) {
  const trouble = vmTrouble(vm)
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      {vm.deletedAt && <Quarantine vm={vm} />}
      {vm.hostUnknown && <Unknown vm={vm} />}
      {vm.unowned && <Unowned vm={vm} />}
      {trouble && <FaultNotice {...trouble} tone={vmState(vm, Date.now()).tone === 'bad' ? 'bad' : 'warn'} />}
      <GuestTrouble vm={vm} />
      <WaitsForRestart vm={vm} />
      {vm.lifecycle === 'creating' && (
        <Card title="Being created">
          <CreationProgress vm={vm} />
        </Card>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Resources vm={vm} />
        <Identity vm={vm} />
      </div>
      {vm.lifecycle !== 'creating' && !vm.unowned && <VmCharts vm={vm} />}
      <Card title="What happened to it">
        <AuditList vm={vm.id} limit={8} />
      </Card>
    </div>
  )
}

/** Which of its steps a creation is at, with bytes where bytes move. */
export function CreationProgress({ vm }: { vm: Vm }) {
  const p = vmProgress(vm)
  if (!p)
    return (
      <p className="text-dim">
        {vm.hostUnknown
          ? `Waits for ${vm.hostName}, which does not answer here now.`
          : `Waits for ${vm.hostName} to begin.`}
      </p>
    )
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <span className="font-medium">
          Step {p.step} of {p.steps}
        </span>
        <span className="min-w-0 flex-1 truncate text-dim">{p.detail}</span>
        {p.bytes && <span className="text-faint text-xs">{p.bytes}</span>}
      </div>
      {p.fraction !== undefined && <ProgressBar fraction={p.fraction} label={`Creating ${vm.name}`} />}
    </div>
  )
}

/** What was changed and the running guest does not have yet. */
function WaitsForRestart({ vm }: { vm: Vm }) {
  if (vm.needsRestart.length === 0 || vm.deletedAt || vm.hostUnknown) return null
  const action = vmActions(vm).restart && <Button onClick={() => void restartVm(vm)}>Restart</Button>
  return (
    <Note action={action}>
      <strong className="font-medium">Waits for its next start:</strong> {fieldWords(vm.needsRestart)}. The running
      guest has what it started with.
    </Note>
  )
}

function Quarantine({ vm }: { vm: Vm }) {
  const now = useNow()
  const left = quarantineLeft(vm, now)
  return (
    <Note>
      <strong className="font-medium">Deleted.</strong>{' '}
      {left
        ? `Its disk is kept: ${left}. Undo brings it back unchanged.`
        : `Waits for ${vm.hostName} to confirm. Undo brings it back unchanged.`}
    </Note>
  )
}

const Unowned = ({ vm }: { vm: Vm }) => (
  <Note>
    <strong className="font-medium">Not in this fleet.</strong> {vm.hostName} has it from another control plane, or from
    before the host was removed and added again, and leaves it as it is. Adopt takes it into this fleet without touching
    it: same disk, same power, nothing restarts. From then on it is kept so, and its console, start, stop and delete are
    here.
  </Note>
)

function Unknown({ vm }: { vm: Vm }) {
  const host = useHost(vm.hostId)
  const sheets = useHostSheets()
  const owner = host && ownerOf(host)
  if (host && owner !== undefined)
    return (
      <Note action={<Button onClick={() => sheets.takeOver(host)}>Take over…</Button>}>
        <strong className="font-medium">
          {host.name} is held by {owner}.
        </strong>{' '}
        It answers that one alone. What you see is last known, and what you change here waits: it is carried out only
        once you take {host.name} over. The VM itself goes on.
      </Note>
    )
  const wish = waitingWish(vm)
  return (
    <Note {...(wish ? { action: <TakeBack vm={vm} undo={wish.undo} /> } : {})}>
      <strong className="font-medium">{vm.hostName} is not answering.</strong>{' '}
      {wish && `What waits for it: ${wish.text}. `}What you see is last known. The VM may well be running; changes are
      kept and carried out when the host is back.{' '}
      <a href={hrefOf({ page: 'host', id: vm.hostId, tab: 'overview' })} className="text-accent underline">
        Look at the host
      </a>
    </Note>
  )
}

/** Takes back what waits for a host, before the host hears of it. */
function TakeBack({ vm, undo }: { vm: Vm; undo: 'start' | 'stop' | 'undelete' }) {
  const sheets = useVmSheets()
  const acts = { start: () => void startVm(vm), stop: () => void stopVm(vm), undelete: () => sheets.undelete(vm) }
  return <Button onClick={acts[undo]}>Take it back</Button>
}

const Note = ({ children, action }: { children: ReactNode; action?: ReactNode }) => (
  <div className="flex items-start gap-4 rounded-lg border border-line bg-panel px-4 py-2.5">
    <p className="min-w-0 flex-1">{children}</p>
    {action}
  </div>
)

const ImageName = ({ vm }: { vm: Vm }) => (
  <span {...(vm.imageUrl ? { title: vm.imageUrl } : {})}>
    {vmImage(vm)}
    {!vm.imageName && vm.imageUrl && <span className="text-faint"> (from its URL)</span>}
  </span>
)

const accelerationWords = ({ acceleration, power }: Vm) =>
  acceleration === 'tcg'
    ? 'none (tcg): emulated, several times slower than with KVM'
    : acceleration.toUpperCase() || (power === 'running' ? 'not told yet' : '–')

function Resources({ vm }: { vm: Vm }) {
  const ports = usePorts().filter(({ vmId }) => vmId === vm.id)
  return (
    <Card title="What it has">
      <Facts
        rows={[
          ...useRows(vm),
          ['Image', <ImageName key="image" vm={vm} />],
          ['Acceleration', accelerationWords(vm)],
          [
            'Clock',
            hasClock(vm) ? (
              <a
                key="clock"
                href={hrefOf({ page: 'vm', id: vm.id, tab: 'clock' })}
                className="inline-flex hover:underline"
              >
                <StateWord state={guestClockView(vm)} />
              </a>
            ) : (
              '–'
            ),
          ],
          [
            'Ports',
            <a key="ports" href={hrefOf({ page: 'vm', id: vm.id, tab: 'ports' })} className="hover:underline">
              {ports.length === 0
                ? 'none published'
                : ports.map((p) => `${publishedAt(p)} → ${p.guestPort}`).join(', ')}
            </a>,
          ],
          ['Starts with its host', autostartWords(vm)],
          ['Protected', vm.protected ? 'yes: no delete, no stop by force' : 'no'],
          ['Labels', labelsText(vm.labels) || 'none'],
        ]}
      />
    </Card>
  )
}

function Identity({ vm }: { vm: Vm }) {
  const now = useNow()
  const host = useHost(vm.hostId)
  const at = (ms: number | undefined) =>
    ms === undefined ? undefined : (
      <span title={new Date(ms).toISOString()}>
        {formatTime(new Date(ms), new Date(now))}{' '}
        <span className="text-faint">({formatAgo(new Date(ms), new Date(now))})</span>
      </span>
    )
  return (
    <Card title="Where and since when">
      <Facts
        rows={[
          ['Host', vm.hostName],
          ['Address', vm.ip || 'not reported'],
          ...(vm.network === ''
            ? []
            : ([[`Address on ${vm.network}`, vm.networkIp || 'not known yet']] satisfies [string, ReactNode][])),
          ['Created', at(msOf(vm.createdAt)) ?? 'not known'],
          ['Running since', (vm.power === 'running' && at(msOf(vm.startedAt))) || '–'],
          ['As of', at(toldAtMs(vm, host)) ?? 'never reported'],
          [
            'Id',
            <span key="id" className="flex items-center gap-1">
              <code className="font-mono text-xs">{shortId(vm.id)}</code>
              <CopyButton text={vm.id} label="Copy the id" />
            </span>,
          ],
          ...(vm.injectedKey
            ? ([['SSH key put in', `${vm.injectedKey.fingerprint} ${vm.injectedKey.comment}`]] satisfies [
                string,
                ReactNode,
              ][])
            : []),
        ]}
      />
    </Card>
  )
}
