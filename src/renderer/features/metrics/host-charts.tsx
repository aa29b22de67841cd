import { useMemo } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { ChartGroup } from './chart-group.tsx'
import { hostCharts } from './charts.ts'

/** What a host took over the last hour or day: CPU, memory, disk, network, clock. */
export function HostCharts({ host }: { host: Host }) {
  const total = host.metrics?.memTotalBytes
  // biome-ignore lint/correctness/useExhaustiveDependencies: of the host only its memory is on a scale
  const charts = useMemo(() => hostCharts(host), [total])
  return <ChartGroup subject={{ host: host.id }} name={host.name} charts={charts} host={host} />
}
