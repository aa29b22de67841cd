import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatBytes, formatMemory, formatMemoryBytes, formatPermille } from '../../lib/format.ts'
import { Meter } from '../../ui/progress.tsx'
import { type Share, vmUse } from './view-model.ts'

const none = <span className="text-faint">–</span>
const missing = <span className="text-faint">not reported</span>

/** What a VM takes of its host, in one line of the table. */
export function UseCell({ vm }: { vm: Vm }) {
  const { cpu, memory } = vmUse(vm)
  if (!cpu && !memory) return vm.power === 'running' && !vm.deletedAt ? missing : none
  const parts = [cpu && `CPU ${formatPermille(cpu.used)}`, memory && formatMemoryBytes(memory.used)]
  return <span className={vm.hostUnknown ? 'text-faint' : ''}>{parts.filter(Boolean).join(' · ')}</span>
}

/** What a VM has, and how much of it it takes. */
export function useRows(vm: Vm): [string, ReactNode][] {
  const { cpu, memory, disk } = vmUse(vm)
  const memoryHas = formatMemory(vm.memMb)
  const diskHas = `${vm.diskGb} GB`
  const unmeasured = (has: string) => (vm.power === 'running' ? `${has}, use not reported` : has)
  const meter = (what: string, share: Share | undefined, say: (used: number) => string, has: string): ReactNode =>
    share ? (
      <Meter {...share} calm={what !== 'Disk'} label={`${what} in use`} text={`${say(share.used)} of ${has} in use`} />
    ) : (
      unmeasured(has)
    )
  return [
    ['vCPU', meter('CPU', cpu, formatPermille, String(vm.vcpus))],
    ['Memory', meter('Memory', memory, formatMemoryBytes, memoryHas)],
    ['Disk', meter('Disk', disk, formatBytes, diskHas)],
  ]
}
