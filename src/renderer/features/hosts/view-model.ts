import { type FaultData, faultFromData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatAgo, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'

/** The one state word of a host. */
export function hostState(host: Host, nowMs: number): StateView {
  if (host.linkFault?.code === 'agent/version-skew') return { word: 'Agent outdated', tone: 'warn', icon: 'plug' }
  switch (host.link) {
    case 'connected':
      return connected(host, nowMs)
    case 'connecting':
      return { word: 'Connecting', tone: 'busy', detail: lastSeen(host, nowMs) }
    case 'sign_in_needed':
      return { word: 'Sign-in needed', tone: 'warn', icon: 'key' }
    case 'key_not_trusted':
      return { word: 'Key not trusted', tone: 'warn', icon: 'key' }
    case 'key_changed':
      return { word: 'Key changed', tone: 'bad', icon: 'key' }
    case 'agent_missing':
    case 'identity_mismatch':
      return { word: 'Agent missing', tone: 'bad', icon: 'plug' }
    case 'held_by_other':
      return { word: 'Held by another controller', tone: 'warn', icon: 'plug', ...ownerDetail(host) }
    default:
      return { word: `Unreachable (${lastSeen(host, nowMs)})`, tone: 'bad' }
  }
}

function connected(host: Host, nowMs: number): StateView {
  if (host.stale) return { word: 'Degraded', tone: 'warn', detail: `No report for a while, ${lastSeen(host, nowMs)}` }
  if (host.newerData) return { word: 'Degraded', tone: 'warn', detail: "This app's data is older than the host's" }
  if (host.missing.length > 0) return { word: 'Degraded', tone: 'warn', detail: `Lacks ${host.missing.join(', ')}` }
  return { word: 'Connected', tone: 'good' }
}

/** Which control plane holds the host, in words; undefined when none does, as far as its last try said. */
export function ownerOf(host: Host): string | undefined {
  const fault = hostFault(host)
  return fault?.code === 'agent/foreign-controller' ? controlPlaneOf(fault.params['controller']) : undefined
}

/** Another control plane in words. Its name is that of the computer it runs on, which must not read like a host. */
export const controlPlaneOf = (name: string | undefined): string =>
  name ? `another control plane, the Eitri of ${name}` : 'another control plane'

function ownerDetail(host: Host): { detail?: string } {
  const name = hostFault(host)?.params['controller']
  return name ? { detail: `By the Eitri of ${name}` } : {}
}

export function lastSeen(host: Host, nowMs: number): string {
  const at = msOf(host.lastSeenAt)
  return at === undefined ? 'never seen' : `last seen ${formatAgo(new Date(at), new Date(nowMs))}`
}

/** Why it is not connected; undefined when it is, or when no try has ended yet. */
export function hostFault(host: Host): FaultData | undefined {
  if (!host.linkFault || host.link === 'connected') return undefined
  const fault = faultFromData(host.linkFault).toData()
  return { ...fault, params: { host: host.name, ...fault.params } }
}

export interface OfferedKey {
  keyType: string
  fingerprint: string
  /** Empty = only keys of other types are known. */
  known: string
}

/** The key it answered with at its last try, when a person may accept it; a revoked one never is. */
export function offeredKey(host: Host): OfferedKey | undefined {
  const fault = hostFault(host)
  if (fault?.code !== 'ssh/host-key-changed' && fault?.code !== 'ssh/host-key-unknown') return undefined
  const { key_type: keyType = '', fingerprint = '', known = '' } = fault.params
  return { keyType, fingerprint, known: known || host.hostKeyFingerprint }
}

/** Seconds to the next try; undefined when none is planned. */
export function nextTryInMs(host: Host, nowMs: number): number | undefined {
  const at = msOf(host.nextTryAt)
  return host.link === 'connected' || at === undefined ? undefined : Math.max(0, at - nowMs)
}

/** Whether its numbers are what is, or only what was last told. */
export const isCurrent = (host: Host): boolean => host.link === 'connected' && !host.stale

/** Its guests run without KVM. */
export const isEmulating = ({ acceleration }: Host): boolean => acceleration === 'tcg'

/** `as of 14:02:11` for numbers that are last known; empty while they are current, or where nothing was ever told. */
export function asOf(host: Host, nowMs: number): string {
  const at = msOf(host.lastSeenAt)
  return at === undefined || isCurrent(host) ? '' : `as of ${formatTime(new Date(at), new Date(nowMs))}`
}

/** When it booted, by what it last told; undefined = it does not say. */
export function bootedAtMs(host: Host): number | undefined {
  const told = msOf(host.lastSeenAt)
  const up = host.metrics?.uptimeS
  return told === undefined || up === undefined ? undefined : told - Number(up) * 1000
}

/** What draining it means now, a phrase; empty = it takes VMs. */
export function drainWords({ draining }: Host): string {
  if (draining === '') return ''
  return draining === 'stop' ? 'Draining: takes no new VMs, its VMs were stopped' : 'Draining: takes no new VMs'
}

export interface Share {
  used: number
  total: number
}

/** Committed of what it has; undefined when it never told its capacity. */
export function shareOf(host: Host, what: 'vcpus' | 'memMb' | 'diskGb'): Share | undefined {
  if (!host.capacity) return undefined
  return { used: Number(host.allocated?.[what] ?? 0), total: Number(host.capacity[what]) }
}

export interface HostUse {
  /** Thousandths of all its CPUs. */
  cpu: Share | undefined
  /** Bytes. */
  memory: Share | undefined
  swap: Share | undefined
  disk: Share | undefined
}

/** What is at work on it now, VMs or not. Undefined = it did not report that, or has no such thing. */
export function hostUse({ metrics }: Host): HostUse {
  const { cpuBusyPermille, memTotalBytes, memAvailableBytes, swapTotalBytes, swapFreeBytes } = metrics ?? {}
  const swap = takenOf(swapTotalBytes, swapFreeBytes)
  return {
    cpu: cpuBusyPermille === undefined ? undefined : { used: cpuBusyPermille, total: 1000 },
    memory: takenOf(memTotalBytes, memAvailableBytes),
    swap: swap?.total === 0 ? undefined : swap,
    disk: takenOf(metrics?.diskTotalBytes, metrics?.diskFreeBytes),
  }
}

const takenOf = (total: bigint | undefined, free: bigint | undefined): Share | undefined =>
  total === undefined || free === undefined
    ? undefined
    : { used: Number(total > free ? total - free : 0n), total: Number(total) }
