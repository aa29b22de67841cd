import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, formatMemory, formatMemoryBytes, formatPermille, plural } from '../../lib/format.ts'
import { Meter } from '../../ui/progress.tsx'
import { vmUse } from './view-model.ts'

/** What a VM has, and what it takes of its host: its hypervisor's memory is a number of its own, not a share of the guest's. */
export function useRows(vm: Vm): [string, ReactNode][] {
  const { cpu, memoryBytes, disk } = vmUse(vm)
  const isOn = vm.power === 'running' || vm.power === 'paused'
  const has = (text: string, onHost: string | undefined) =>
    [text, onHost ?? (isOn ? 'use not reported' : '')].filter(Boolean).join(' · ')
  const diskOnHost = disk && formatMemoryBytes(disk.used)
  const vcpus = plural(vm.vcpus, 'vCPU')
  return [
    [
      'CPU',
      cpu ? (
        <Meter key="cpu" {...cpu} calm label="CPU in use" text={`${vcpus} · ${formatPermille(cpu.used)} in use`} />
      ) : (
        has(vcpus, undefined)
      ),
    ],
    [
      'Memory',
      <span key="memory" title="On the host: all its hypervisor holds, the guest and its own">
        {has(
          `${formatMemory(vm.memMb)} for the guest`,
          memoryBytes === undefined ? undefined : `${formatMemoryBytes(memoryBytes)} on the host`,
        )}
      </span>,
    ],
    [
      'Disk',
      disk && disk.used <= disk.total ? (
        <Meter key="disk" {...disk} label="Disk in use" text={`${diskOnHost} of ${formatGib(vm.diskGb)} in use`} />
      ) : (
        has(formatGib(vm.diskGb), diskOnHost && `${diskOnHost} on the host`)
      ),
    ],
  ]
}
