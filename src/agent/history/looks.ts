import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { CLOCK_STALE_MS } from '../../ipc/clock-words.ts'
import type { HostMetrics } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { VmMetrics } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { HOST, type Look } from './history.ts'

/** A clock as far as its offset goes. */
interface Offset {
  offsetUs?: bigint | undefined
  measuredAt?: Timestamp | undefined
}

/** What was measured of the host. */
export function hostLook(metrics: HostMetrics, clock: Offset | undefined, now: number): Look {
  const { memTotalBytes: total, memAvailableBytes: available, diskTotalBytes: disk, diskFreeBytes: free } = metrics
  return {
    subject: HOST,
    levels: {
      cpuBusyPermille: metrics.cpuBusyPermille,
      memUsedBytes: minus(total, available),
      diskUsedBytes: minus(disk, free),
      clockOffsetUs: offsetOf(clock, now),
    },
    counters: countersOf(metrics),
  }
}

/** What was measured of a VM that runs; undefined = it does not, and its history has a gap. */
export function vmLook(
  subject: string,
  metrics: VmMetrics | undefined,
  clock: Offset | undefined,
  now: number,
): Look | undefined {
  if (metrics?.cpuTimeMs === undefined) return undefined
  return {
    subject,
    levels: {
      cpuBusyPermille: metrics.cpuBusyPermille,
      memUsedBytes: numberOf(metrics.rssBytes),
      diskUsedBytes: numberOf(metrics.diskUsedBytes),
      clockOffsetUs: offsetOf(clock, now),
    },
    counters: countersOf(metrics),
  }
}

const countersOf = (metrics: HostMetrics | VmMetrics) => ({
  diskRead: metrics.diskReadBytes,
  diskWritten: metrics.diskWrittenBytes,
  netRx: metrics.netRxBytes,
  netTx: metrics.netTxBytes,
})

const numberOf = (value: bigint | undefined): number | undefined => (value === undefined ? undefined : Number(value))
const minus = (a: bigint | undefined, b: bigint | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : Number(a - b)

/** An offset measured long ago is not what is. */
function offsetOf(clock: Offset | undefined, now: number): number | undefined {
  if (clock?.offsetUs === undefined) return undefined
  const old = clock.measuredAt !== undefined && Math.abs(now - timestampMs(clock.measuredAt)) > CLOCK_STALE_MS
  return old ? undefined : Number(clock.offsetUs)
}
