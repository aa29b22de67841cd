import { useMemo } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { useHost } from '../../state/use-fleet.ts'
import { ChartGroup } from './chart-group.tsx'
import { guestClockChart, vmCharts } from './charts.ts'

/** What a VM took over the last hour or day: CPU, memory, disk, network, clock. */
export function VmCharts({ vm }: { vm: Vm }) {
  const host = useHost(vm.hostId)
  // biome-ignore lint/correctness/useExhaustiveDependencies: of the VM only its sizes are on a scale
  const charts = useMemo(() => vmCharts(vm), [vm.vcpus, vm.memMb])
  return <ChartGroup subject={{ vm: vm.id }} name={vm.name} charts={charts} host={host} />
}

const CLOCK_ALONE = [guestClockChart]

/** How far off a guest's clock was. */
export function VmClockChart({ vm }: { vm: Vm }) {
  const host = useHost(vm.hostId)
  return <ChartGroup subject={{ vm: vm.id }} name={vm.name} charts={CLOCK_ALONE} host={host} />
}
