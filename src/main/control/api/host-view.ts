import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { faultToMessage } from '../../../ipc/fault-wire.ts'
import { type Host, HostSchema, type NewerData } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Wrong } from '../clock/clock-judge.ts'
import { hostClockView } from '../clock/clock-view.ts'
import { refusedIn } from '../hosts/plausible.ts'
import type { CapacityRow, HostRow } from '../store/host-row.ts'
import { isStale } from '../sync/answering.ts'
import type { HostLive } from '../sync/registry.ts'
import { hostLifeView, type ShownUpgrade, skewNotice } from './host-life-view.ts'
import { findingViews, networkViews } from './network-view.ts'

/** Committed to VMs of a host that are not deleted. */
export interface Allocation extends CapacityRow {
  vms: number
}

/** What of a host is neither in its row nor told by it. */
export interface HostAround {
  newer?: NewerData | undefined
  wrong?: Wrong
  /** Where secrets of its sign-in are. Absent = none are known. */
  secretsKept?: string | undefined
  /** Absent = nothing is known of upgrades. */
  upgrade?: ShownUpgrade | undefined
  /** Of a VM of this host; '' = it has none of this id. */
  vmName?(vmId: string): string
}

const NO_UPGRADE: ShownUpgrade = { upgradeAvailable: '', pendingUpgrade: undefined }
export const NOTHING_ALLOCATED: Allocation = { vcpus: 0, memMb: 0, diskGb: 0, vms: 0 }

/** A host as clients see it; `monotonicNow` is what ages are reckoned from. Absent = never told. */
export function hostView(
  row: HostRow,
  live: HostLive,
  allocation: Allocation,
  monotonicNow: number,
  { newer, wrong = '', secretsKept = '', upgrade = NO_UPGRADE, vmName = () => '' }: HostAround = {},
): Host {
  const { facts, ssh } = row
  const { link, hello, report } = live
  const lastSeen = live.reportedAt ?? row.lastSeenAt
  const capacity = report?.capacity ?? hello?.capacity
  const clock = hostClockView(live, wrong, monotonicNow)
  return create(HostSchema, {
    id: row.id,
    name: row.name,
    status: row.status,
    kind: row.kind,
    address: ssh ? `${ssh.user}@${ssh.host}:${ssh.port}` : '',
    link: link.state,
    ...(link.fault ? { linkFault: faultToMessage(link.fault) } : {}),
    ...(link.nextTryAt ? { nextTryAt: timestampFromDate(link.nextTryAt) } : {}),
    ...(lastSeen ? { lastSeenAt: timestampFromDate(lastSeen) } : {}),
    ...(live.reportedMonotonic === undefined
      ? {}
      : { lastSeenAgeMs: BigInt(Math.max(0, Math.round(monotonicNow - live.reportedMonotonic))) }),
    stale: isStale(live, monotonicNow),
    agentVersion: hello?.agentVersion || row.agentVersion,
    backend: hello?.provisioner ?? row.backend,
    acceleration: facts?.acceleration ?? '',
    accelerationDetail: facts?.accelerationDetail ?? '',
    os: facts?.os ?? '',
    arch: facts?.arch ?? '',
    init: facts?.init ?? '',
    cpuModel: facts?.cpuModel ?? '',
    vmmVersion: facts?.vmmVersion ?? '',
    missing: facts?.missing ?? [],
    ...capacityOf(capacity, row.capacity),
    allocated: { vcpus: allocation.vcpus, memMb: BigInt(allocation.memMb), diskGb: BigInt(allocation.diskGb) },
    ...(report?.metrics ? { metrics: metricsOf(report.metrics) } : {}),
    carrier: live.session ? (link.carrier ?? live.session.connection.carrier) : '',
    sshClient: live.session?.connection.sshClient ?? '',
    sshClientDetail: live.session?.connection.sshClient === 'openssh' ? (ssh?.clientDetail ?? '') : '',
    hostKeyFingerprint: row.hostKeyFingerprint,
    secretsKept,
    runsAs: facts?.runsAs || row.agent.runsAs,
    startedBy: facts?.startedBy || row.agent.startedBy,
    epoch: row.epoch,
    ...(report ? { reportedEpoch: report.lastSeenEpoch } : {}),
    vms: allocation.vms,
    bootId: report?.bootId || hello?.bootId || '',
    hostNetworks: hello?.hostNetworks ?? [],
    createdAt: timestampFromDate(row.createdAt),
    guestCidr: row.guestCidr,
    uplinkAddress: row.uplinkAddress,
    ...hostLifeView(row, live, upgrade),
    notices: [
      ...skewNotice(row, live, upgrade.upgradeAvailable),
      ...(newer ? [newerNotice(row, newer)] : fenceNotice(row, live)),
      ...refusedNotices(live),
      ...(report?.notices ?? []).slice(0, 20),
    ],
    ...(newer ? { newerData: newer } : {}),
    networks: networkViews({ id: row.id, name: row.name, vmName }, live, monotonicNow),
    networkFindings: findingViews(report?.networkFindings ?? []),
    ...(clock ? { clock } : {}),
  })
}

interface WireCapacity {
  vcpus: number
  memMb: bigint
  diskGb: bigint
}

function capacityOf(live: WireCapacity | undefined, stored: CapacityRow | null) {
  if (live) return { capacity: { vcpus: live.vcpus, memMb: live.memMb, diskGb: live.diskGb } }
  if (!stored) return {}
  return { capacity: { vcpus: stored.vcpus, memMb: BigInt(stored.memMb), diskGb: BigInt(stored.diskGb) } }
}

function metricsOf({ $typeName, $unknown, ...metrics }: NonNullable<NonNullable<HostLive['report']>['metrics']>) {
  return metrics
}

/** Values its agent said that cannot be, told one by one. */
const MAX_REFUSED = 5

function refusedNotices({ hello, report }: HostLive): string[] {
  const refused = [...(report ? refusedIn(report) : []), ...(hello ? refusedIn(hello) : [])]
  const more = refused.length - MAX_REFUSED
  return [
    ...refused.slice(0, MAX_REFUSED).map((said) => `Its agent reported ${said}, which cannot be; it is not shown.`),
    ...(more > 0 ? [`Its agent reported ${more} more values that cannot be; they are not shown.`] : []),
  ]
}

function fenceNotice(row: HostRow, { report }: HostLive): string[] {
  if (!report?.fenced && !(report && report.lastSeenEpoch > row.epoch)) return []
  return ['Its agent has seen a newer state of this fleet than this store holds, so changes made here do not reach it.']
}

const newerNotice = ({ name }: HostRow, { epoch, hostEpoch }: NewerData): string =>
  `This app's data is older than ${name}'s (epoch ${epoch} < ${hostEpoch}). To avoid undoing newer work nothing is sent to it.`
