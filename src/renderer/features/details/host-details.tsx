import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import { formatMemory, formatPermille } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { labelsOf } from '../../state/scope.ts'
import { useFleetShallow, useHost } from '../../state/use-fleet.ts'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { hostClockView } from '../clock/view-model.ts'
import { HostState } from '../hosts/hosts-table.tsx'
import { hostFault, hostUse, isCurrent, lastSeen, shareOf } from '../hosts/view-model.ts'
import { VmState } from '../vms/vms-table.tsx'
import { Part } from './details-parts.tsx'

const MAX_VMS = 12

export function HostDetails({ id }: { id: string }) {
  const host = useHost(id)
  const now = useNow()
  const vms = useFleetShallow((f) => [...f.vms.values()].filter((vm) => vm.hostId === id && !vm.deletedAt))
  if (!host) return null
  const fault = hostFault(host)
  const { cpu, disk } = hostUse(host)
  const vcpus = shareOf(host, 'vcpus')
  const memory = shareOf(host, 'memMb')
  const labels = labelsOf(host)
  return (
    <div className="grid gap-4">
      <HostState host={host} strong />
      {fault && <FaultNotice fault={fault} words={windowFaultText(fault.code, fault.params)} tone="warn" />}
      <div className={isCurrent(host) ? '' : 'text-dim'}>
        <Facts
          rows={[
            ['Address', host.address || 'this computer'],
            ['System', [host.os, host.arch].filter(Boolean).join(' · ') || 'not told'],
            ['vCPUs promised', vcpus ? `${vcpus.used} of ${vcpus.total}` : 'not told'],
            ['Memory promised', memory ? `${formatMemory(memory.used)} of ${formatMemory(memory.total)}` : 'not told'],
            ['CPU in use', cpu ? formatPermille(cpu.used) : 'not told'],
            ['Disk in use', disk ? formatPermille(Math.round((disk.used / disk.total) * 1000)) : 'not told'],
            ['Agent', host.agentVersion || 'not told'],
            ['Clock', <StateWord key="clock" state={hostClockView(host)} />],
            ...(labels.length > 0 ? [['Labels', labels.join(', ')] satisfies [string, string]] : []),
          ]}
        />
      </div>
      <p className="text-faint text-xs">{`It was ${lastSeen(host, now)}.`.replace('It was never', 'Never')}</p>
      <Part title={`VMs here (${vms.length})`}>
        {vms.length === 0 ? (
          <p className="text-dim">None.</p>
        ) : (
          <ul className="grid gap-1">
            {vms.slice(0, MAX_VMS).map((vm) => (
              <li key={vm.id} className="flex items-center justify-between gap-3">
                <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })} className="truncate hover:underline">
                  {vm.name}
                </a>
                <VmState vm={vm} />
              </li>
            ))}
            {vms.length > MAX_VMS && (
              <li>
                <a href={hrefOf({ page: 'vms', filter: `host:${host.name}` })} className="text-dim hover:underline">
                  and {vms.length - MAX_VMS} more
                </a>
              </li>
            )}
          </ul>
        )}
      </Part>
      <Part title="What happened to it">
        <AuditList host={id} limit={6} />
      </Part>
    </div>
  )
}
