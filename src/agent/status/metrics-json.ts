import type { HostMetrics } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { VmMetrics } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'

/** As snake_case JSON; what was not measured is not there. */
export function metricsJson(metrics: HostMetrics | VmMetrics): Record<string, number> {
  const { $typeName, $unknown, ...values } = metrics
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[snakeCase(name), Number(value)]])),
  )
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
