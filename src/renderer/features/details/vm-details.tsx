import { SquareTerminal } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatTime, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleetShallow, useHost, useVm } from '../../state/use-fleet.ts'
import { buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { guestClockView, hasClock } from '../clock/view-model.ts'
import { publishedAt } from '../ports/view-model.ts'
import { toldAtMs, vmActions, vmImage, vmState, vmTrouble } from '../vms/view-model.ts'
import { CreationProgress } from '../vms/vm-overview.tsx'
import { useRows } from '../vms/vm-use.tsx'
import { VmState } from '../vms/vms-table.tsx'
import { Part } from './details-parts.tsx'

export function VmDetails({ id }: { id: string }) {
  const vm = useVm(id)
  return vm ? <VmParts vm={vm} /> : null
}

function VmParts({ vm }: { vm: Vm }) {
  const { id } = vm
  const now = useNow()
  const host = useHost(vm.hostId)
  const ports = useFleetShallow((f) => [...f.ports.values()].filter((p) => p.vmId === id))
  const rows = useRows(vm)
  const trouble = vmTrouble(vm)
  const told = toldAtMs(vm, host)
  const labels = Object.entries(vm.labels).map(([k, v]) => (v ? `${k}=${v}` : k))
  return (
    <div className={vm.hostUnknown ? 'grid gap-4 text-dim' : 'grid gap-4'}>
      <div className="flex items-center justify-between gap-2">
        <VmState vm={vm} strong />
        {vmActions(vm).console && (
          <a href={hrefOf({ page: 'vm', id, tab: 'console' })} className={buttonClass('plain', 'small')}>
            <SquareTerminal size={13} aria-hidden />
            Console
          </a>
        )}
      </div>
      {trouble && <FaultNotice {...trouble} tone={vmState(vm, now).tone === 'bad' ? 'bad' : 'warn'} />}
      {vm.lifecycle === 'creating' && <CreationProgress vm={vm} />}
      <Facts
        rows={[
          [
            'Host',
            <a key="host" href={hrefOf({ page: 'host', id: vm.hostId, tab: 'overview' })} className="hover:underline">
              {vm.hostName}
            </a>,
          ],
          [
            'Address',
            vm.ip ? (
              <span key="ip" className="inline-flex items-center gap-1">
                {vm.ip}
                <CopyButton text={vm.ip} label="Copy the address" />
              </span>
            ) : (
              'not told'
            ),
          ],
          ['Image', vmImage(vm)],
          ...rows,
          [
            'Ports',
            ports.length === 0 ? 'none published' : ports.map((p) => `${publishedAt(p)} → ${p.guestPort}`).join(', '),
          ],
          ['Clock', hasClock(vm) ? <StateWord key="clock" state={guestClockView(vm)} /> : '–'],
          ...(labels.length > 0 ? [['Labels', labels.join(', ')] satisfies [string, string]] : []),
          [
            'Id',
            <span key="id" className="inline-flex items-center gap-1" title={vm.id}>
              <code className="font-mono text-xs">{shortId(vm.id)}</code>
              <CopyButton text={vm.id} label="Copy the id" />
            </span>,
          ],
        ]}
      />
      <p className="text-faint text-xs" title={told === undefined ? undefined : new Date(told).toISOString()}>
        {told === undefined
          ? 'Its host has not told of it yet.'
          : `As of ${formatTime(new Date(told), new Date(now))}.`}
        {msOf(vm.createdAt) !== undefined && ` Made ${formatTime(new Date(msOf(vm.createdAt) ?? 0), new Date(now))}.`}
      </p>
      <Part title="What happened to it">
        <AuditList vm={id} limit={6} />
      </Part>
    </div>
  )
}
