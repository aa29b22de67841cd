import type { HostMetrics } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { VmMetrics } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { MiB } from '../../ipc/units.ts'

/** What a host has in use, for a sheet; empty = it said nothing. */
export function hostUse(metrics: HostMetrics | undefined): string {
  if (!metrics) return ''
  const { cpuBusyPermille, memTotalBytes, memAvailableBytes, diskTotalBytes, diskFreeBytes, load1 } = metrics
  return [
    say(cpuBusyPermille, (permille) => `${percent(permille)} CPU`),
    say(used(memTotalBytes, memAvailableBytes), (bytes) => `${mib(bytes)} memory`),
    say(used(diskTotalBytes, diskFreeBytes), (bytes) => `${mib(bytes)} disk`),
    say(load1, (load) => `load ${load.toFixed(2)}`),
  ]
    .flat()
    .join(', ')
}

/** What a VM takes of its host, for a sheet; empty = nothing was measured. */
export function vmUse(metrics: VmMetrics | undefined): string {
  if (!metrics) return ''
  const { cpuBusyPermille, rssBytes, diskUsedBytes } = metrics
  return [
    say(cpuBusyPermille, (permille) => `${percent(permille)} of one CPU`),
    say(rssBytes, (bytes) => `${mib(bytes)} memory`),
    say(diskUsedBytes, (bytes) => `${mib(bytes)} disk`),
  ]
    .flat()
    .join(', ')
}

const say = <T>(value: T | undefined, words: (value: T) => string): string[] =>
  value === undefined ? [] : [words(value)]

const used = (total: bigint | undefined, free: bigint | undefined): bigint | undefined =>
  total === undefined || free === undefined ? undefined : total - free

const percent = (permille: number): string => `${(permille / 10).toFixed(1)} %`
const mib = (bytes: bigint): string => `${bytes / BigInt(MiB)} MiB`
