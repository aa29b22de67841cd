import type { VmMetrics } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { MiB } from '../../../ipc/units.ts'

/** Less than this nobody sees: one hundredth of a CPU, and what no screen rounds to. */
const BUSY_STEP = 10
const BYTES_STEP = BigInt(4 * MiB)

/** Whether a person would see the metrics change. */
export function metricsDiffer(shown: VmMetrics, now: VmMetrics): boolean {
  return (
    differs(shown.cpuBusyPermille, now.cpuBusyPermille, (a, b) => Math.abs(a - b) >= BUSY_STEP) ||
    differs(shown.rssBytes, now.rssBytes, isByteStep) ||
    differs(shown.pssBytes, now.pssBytes, isByteStep) ||
    differs(shown.diskUsedBytes, now.diskUsedBytes, isByteStep)
  )
}

/** One of the two is absent, or both are and `isStep` apart. */
export function differs<T>(shown: T | undefined, now: T | undefined, isStep: (a: T, b: T) => boolean): boolean {
  if (shown === undefined || now === undefined) return shown !== now
  return isStep(shown, now)
}

function isByteStep(a: bigint, b: bigint): boolean {
  return (a > b ? a - b : b - a) >= BYTES_STEP
}
