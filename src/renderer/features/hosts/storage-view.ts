import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { CacheItem, HostCollection, Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatDuration, formatMemoryBytes, plural } from '../../lib/format.ts'

/** Bytes that some VMs take, and how many of those did not say. */
export interface Taken {
  vms: number
  bytes: number
  silent: number
}

export interface HostStorageView {
  /** Undefined = the host did not report it. */
  disk: { free: number; total: number } | undefined
  alive: Taken
  quarantine: Taken
  images: Image[]
}

/** What takes the disk of a host, as far as it said. */
export function hostStorage(host: Host, vms: readonly Vm[], images: readonly Image[]): HostStorageView {
  const { diskFreeBytes: free, diskTotalBytes: total } = host.metrics ?? {}
  const mine = vms.filter((vm) => vm.hostId === host.id)
  return {
    disk: free === undefined || total === undefined ? undefined : { free: Number(free), total: Number(total) },
    alive: takenBy(mine.filter((vm) => !vm.deletedAt)),
    quarantine: takenBy(mine.filter((vm) => vm.deletedAt)),
    images: images.filter(({ cachedOn }) => cachedOn.includes(host.id)).sort((a, b) => a.name.localeCompare(b.name)),
  }
}

function takenBy(vms: readonly Vm[]): Taken {
  const told = vms.flatMap(({ metrics }) =>
    metrics?.diskUsedBytes === undefined ? [] : [Number(metrics.diskUsedBytes)],
  )
  return { vms: vms.length, bytes: told.reduce((sum, n) => sum + n, 0), silent: vms.length - told.length }
}

/** `12 GB by 3 VMs, 1 of them not measured`. */
export function takenWords({ vms, bytes, silent }: Taken): string {
  if (vms === 0) return 'none'
  if (silent === vms) return `${plural(vms, 'VM')}, not measured`
  const missing = silent === 0 ? '' : `, ${silent} of them not measured`
  return `${formatMemoryBytes(bytes)} by ${plural(vms, 'VM')}${missing}`
}

const REMOVED: Record<string, string> = {
  age: 'not used for long',
  pressure: 'to make room',
  asked: 'nothing refers to it',
}
const KEPT: Record<string, string> = {
  in_use: 'in use',
  transfer: 'being sent',
  recent: 'used not long ago',
  unknown: 'not known whether it is in use',
}

export interface CacheLine {
  sha256: string
  name: string
  size: string
  why: string
  goes: boolean
}

/** What a collection takes and leaves, line by line: what goes first, the largest before the others. */
export function collectionLines({ removed, kept }: Pick<HostCollection, 'removed' | 'kept'>): CacheLine[] {
  const bySize = (a: CacheItem, b: CacheItem) => Number(b.sizeBytes - a.sizeBytes)
  const line = (goes: boolean) => (item: CacheItem) => ({
    sha256: item.sha256,
    name: nameOf(item),
    size: formatMemoryBytes(item.sizeBytes),
    why: whyOf(item, goes),
    goes,
  })
  return [...[...removed].sort(bySize).map(line(true)), ...[...kept].sort(bySize).map(line(false))]
}

function nameOf({ names, whole, sha256 }: CacheItem): string {
  const name = names.length > 0 ? names.join(', ') : `not in this fleet, ${sha256.slice(0, 8)}`
  return whole ? name : `${name} (unfinished transfer)`
}

function whyOf({ reason, vms, unusedS }: CacheItem, goes: boolean): string {
  const word = (goes ? REMOVED : KEPT)[reason] ?? reason
  if (vms.length > 0) return `${word}: ${vms.join(', ')}`
  return unusedS > 0n ? `${word}, unused for ${formatDuration(Number(unusedS) * 1000)}` : word
}

/** Bytes a collection brings. */
export const freedBy = ({ removed }: Pick<HostCollection, 'removed'>): number =>
  removed.reduce((sum, { sizeBytes }) => sum + Number(sizeBytes), 0)
