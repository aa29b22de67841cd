import { hostClockState } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { BETWEEN_VALUES, type FilterRecord } from '../../lib/filter.ts'
import { formatMemory, formatMemoryBytes, formatPermille } from '../../lib/format.ts'
import { labelText } from '../vms/labels-text.ts'
import { hostState, hostUse, lastSeen, shareOf } from './view-model.ts'

/** What a filter of hosts can name, one for each column. */
export const HOST_FILTER_FIELDS = [
  ...['state', 'name', 'address', 'os', 'arch', 'agent', 'vms', 'cpu', 'ram', 'disk', 'clock', 'seen', 'label'],
  ...['draining', 'controller'],
] as const

/** Lists a person looks for again and again. */
export const HOST_VIEWS: { name: string; filter: string }[] = [
  { name: 'Unreachable', filter: 'state:unreachable' },
  { name: 'Key changed', filter: 'state:"key changed"' },
  { name: 'Agent outdated', filter: 'agent:outdated' },
  { name: 'Clock off', filter: 'clock:off' },
  { name: 'Draining', filter: 'draining:yes' },
]

const CLOCK_OFF: ReadonlySet<string> = new Set(['Drifting', 'Jumped', 'Not synchronised'])

/** A host as a filter reads it; what it never told matches nothing. */
export function hostFilterRecord(host: Host, nowMs: number): FilterRecord {
  const state = hostState(host, nowMs)
  const clock = hostClockState(host.clock).word
  const { cpu, memory } = hostUse(host)
  const capacity = shareOf(host, 'memMb')
  const free = host.metrics?.diskFreeBytes
  return {
    state: state.word,
    name: host.name,
    address: host.address || 'this computer',
    os: host.os,
    arch: host.arch,
    agent: [host.agentVersion, isOutdated(host) ? 'outdated' : ''].join(' '),
    vms: String(host.vms),
    cpu: cpu ? formatPermille(cpu.used) : '',
    ram: [capacity && formatMemory(capacity.total), memory && formatMemoryBytes(memory.used)].filter(Boolean).join(' '),
    disk: free === undefined ? '' : formatMemoryBytes(free),
    clock: CLOCK_OFF.has(clock) ? `${clock} off` : clock,
    seen: lastSeen(host, nowMs),
    label: Object.entries(host.labels).map(labelText).join(BETWEEN_VALUES),
    draining: host.draining === '' ? 'no' : `yes ${host.draining}`,
    controller: host.link === 'held_by_other' ? (state.detail ?? 'another') : 'this app',
  }
}

/** Its agent is not the one this app brings. */
export const isOutdated = (host: Host): boolean =>
  host.upgradeAvailable !== '' || host.linkFault?.code === 'agent/version-skew'
