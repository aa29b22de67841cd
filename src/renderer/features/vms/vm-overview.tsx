import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo, formatTime, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { useHost } from '../../state/use-fleet.ts'
import { CopyButton } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { ProgressBar } from '../../ui/progress.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { quarantineLeft, toldAtMs, vmProgress, vmTrouble } from './view-model.ts'
import { useRows } from './vm-use.tsx'

export function VmOverview({ vm }: { vm: Vm }) {
  const trouble = vmTrouble(vm)
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      {vm.deletedAt && <Quarantine vm={vm} />}
      {vm.hostUnknown && <Unknown vm={vm} />}
      {vm.unowned && <Unowned vm={vm} />}
      {trouble && <FaultNotice {...trouble} tone={vm.phase === 'failed' ? 'bad' : 'warn'} />}
      {vm.lifecycle === 'creating' && (
        <Card title="Being created">
          <CreationProgress vm={vm} />
        </Card>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Resources vm={vm} />
        <Identity vm={vm} />
      </div>
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
        {vm.hostUnknown ? `Waits for ${vm.hostName}, which does not answer now.` : `Waits for ${vm.hostName} to begin.`}
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
    <strong className="font-medium">Not in this fleet.</strong> {vm.hostName} runs it for another control plane, or
    since before the host was removed and added again. It is left alone; nothing can be changed from here.
  </Note>
)

function Unknown({ vm }: { vm: Vm }) {
  return (
    <Note>
      <strong className="font-medium">{vm.hostName} is not answering.</strong> What you see is last known. The VM may
      well be running; changes are kept and carried out when the host is back.{' '}
      <a href={hrefOf({ page: 'host', id: vm.hostId })} className="text-accent underline">
        Look at the host
      </a>
    </Note>
  )
}

const Note = ({ children }: { children: ReactNode }) => (
  <p className="rounded-lg border border-line bg-panel px-4 py-2.5">{children}</p>
)

function Resources({ vm }: { vm: Vm }) {
  const labels = Object.entries(vm.labels)
  return (
    <Card title="What it has">
      <Facts
        rows={[
          ...useRows(vm),
          ['Image', vm.imageName || 'not in the store any more'],
          ['Acceleration', vm.acceleration || (vm.power === 'running' ? 'not told yet' : '–')],
          ['Starts with its host', vm.autostart ? 'yes' : 'no'],
          ...(labels.length > 0
            ? ([['Labels', labels.map(([k, v]) => (v ? `${k}=${v}` : k)).join(', ')]] satisfies [string, ReactNode][])
            : []),
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
