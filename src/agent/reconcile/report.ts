import { create, type MessageInitShape, toJson } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { GuestClock, HostClock } from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { GuestState } from '../../ipc/gen/eitri/agent/v1/guest_pb.js'
import type { Capacity, HostMetrics } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { NetworkFindingSchema, NetworkStatusSchema } from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import { type ExposureStatus, type Report, ReportSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { GuestTrust } from '../../ipc/gen/eitri/agent/v1/trust_pb.js'
import {
  type QuarantinedVm,
  QuarantinedVmSchema,
  type VmMetrics,
  type VmRow,
  VmRowSchema,
  VmSpecSchema,
} from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { VmResult } from './vm-result.ts'

/** Longest list of notices a report carries. */
const NOTICE_LIMIT = 20

/** What is measured and looked up beside the VMs, all of it from memory. Absent and empty = no answer. */
export interface Measured {
  host(): HostMetrics | undefined
  vm(vmId: string): VmMetrics | undefined
  guestCidr(): string
  /** Absent = nobody says. */
  networks?(): MessageInitShape<typeof NetworkStatusSchema>[]
  uplink(): string
  /** Of this host; absent = not looked up yet, or nobody looks. */
  clock?(): HostClock | undefined
  /** What a running guest says of itself, and its clock; absent = not asked yet, or nobody asks. */
  guest?(vmId: string): {
    guest: GuestState | undefined
    clock: GuestClock | undefined
    /** What it holds of the fleet's SSH trust; absent = nobody could say. */
    trust?: GuestTrust | undefined
  }
  /** What keeps guests from their network; absent = nobody looks. */
  findings?(): MessageInitShape<typeof NetworkFindingSchema>[]
}

export interface ReportInput {
  epoch: bigint
  /** Hex; '' = none. */
  epochDigest: string
  fenced: boolean
  results: ReadonlyMap<string, VmResult | undefined>
  destroyed: string[]
  capacity: Capacity | undefined
  /** unusedMs absent = nobody counts. */
  images: readonly { sha256: string; sizeBytes: number; unusedMs?: number }[]
  imageBytes(sha256: string): number
  consoleEnd(vmId: string): bigint
  bootId: string
  now: number
  notices: readonly string[]
  measured: Measured | undefined
  exposures: ExposureStatus[]
}

/** What is, as a message. Pure. */
export function buildReport(input: ReportInput): Report {
  const vms: VmRow[] = []
  const quarantined: QuarantinedVm[] = []
  const wanted = new Set<string>()
  const troubles: string[] = []
  for (const [vmId, result] of input.results) {
    if (result?.waitsForImage) wanted.add(result.waitsForImage)
    try {
      const metrics = input.measured?.vm(vmId)
      if (result?.quarantined) quarantined.push(quarantinedOf(vmId, result, metrics))
      else if (!result?.gone) {
        const row = rowOf(vmId, result, input.consoleEnd(vmId), metrics)
        vms.push(result?.row?.running ? Object.assign(row, told(input.measured?.guest?.(vmId))) : row)
      }
    } catch (error) {
      // All others are told of; this one stays a row with everything unknown.
      vms.push(create(VmRowSchema, { vmId }))
      troubles.push(`VM ${vmId} cannot be described (${error instanceof Error ? error.message : String(error)}).`)
    }
  }
  const hostMetrics = input.measured?.host()
  const clock = input.measured?.clock?.()
  return create(ReportSchema, {
    lastSeenEpoch: input.epoch,
    lastSeenSha256: Buffer.from(input.epochDigest, 'hex'),
    fenced: input.fenced,
    vms,
    quarantined,
    destroyed: input.destroyed,
    exposures: input.exposures,
    ...(input.capacity ? { capacity: input.capacity } : {}),
    ...(hostMetrics ? { metrics: hostMetrics } : {}),
    ...(clock ? { clock } : {}),
    guestCidr: input.measured?.guestCidr() ?? '',
    hostUplinkAddr: input.measured?.uplink() ?? '',
    networks: input.measured?.networks?.() ?? [],
    networkFindings: input.measured?.findings?.() ?? [],
    wantedImages: [...wanted].map((sha256) => ({ sha256, haveBytes: BigInt(input.imageBytes(sha256)) })),
    images: input.images.map(({ sha256, sizeBytes, unusedMs }) => ({
      sha256,
      sizeBytes: BigInt(sizeBytes),
      ...(unusedMs === undefined ? {} : { unusedS: BigInt(Math.floor(unusedMs / 1000)) }),
    })),
    bootId: input.bootId,
    builtAt: timestampFromMs(input.now),
    notices: [...input.notices, ...troubles].slice(0, NOTICE_LIMIT),
  })
}

/** A VM whose first pass has not ended is a row with everything unknown. */
function rowOf(vmId: string, result: VmResult | undefined, consoleEnd: bigint, metrics: VmMetrics | undefined): VmRow {
  const row = result?.row
  const measured = metrics ? { metrics } : {}
  if (!row) return create(VmRowSchema, { vmId, consoleEnd, ...measured })
  const { power, phase, progress, running, spec } = row
  const shown = power === 'stopped' ? ofDisk(metrics) : measured
  const init: MessageInitShape<typeof VmRowSchema> = {
    vmId,
    ip: row.ip,
    networkIp: row.networkIp,
    detail: row.detail,
    reason: row.reason,
    hostPublicKey: result.hostPublicKey,
    unowned: row.unowned,
    needsRestart: running ? row.needsRestart : [],
    acceleration: running?.acceleration ?? '',
    consoleEnd,
    ...(power === undefined ? {} : { power }),
    ...(phase === undefined ? {} : { phase }),
    ...(running ? { startedAt: timestampFromDate(running.startedAt) } : {}),
    ...(spec ? { spec } : {}),
    ...shown,
  }
  if (progress) {
    const { step, steps, doneBytes, totalBytes } = progress
    init.progress = {
      step,
      steps,
      doneBytes: BigInt(doneBytes),
      ...(totalBytes === undefined ? {} : { totalBytes: BigInt(totalBytes) }),
    }
  }
  return create(VmRowSchema, init)
}

const told = ({ guest, clock, trust }: Partial<ReturnType<NonNullable<Measured['guest']>>> = {}) => ({
  ...(guest ? { guest } : {}),
  ...(trust ? { trust } : {}),
  ...(clock ? { clock } : {}),
})

/** Of a VM that is off: the rest was measured of a process that has ended since. */
const ofDisk = (metrics: VmMetrics | undefined) =>
  metrics?.diskUsedBytes === undefined ? {} : { metrics: { diskUsedBytes: metrics.diskUsedBytes } }

function quarantinedOf(
  vmId: string,
  { quarantined, hostPublicKey }: VmResult,
  metrics: VmMetrics | undefined,
): QuarantinedVm {
  const { spec, destroyAt, unowned, detail } = quarantined!
  return create(QuarantinedVmSchema, {
    vmId,
    specJson: JSON.stringify(toJson(VmSpecSchema, spec)),
    unowned,
    hostPublicKey,
    detail,
    ...ofDisk(metrics),
    ...(destroyAt === undefined ? {} : { destroyAt: timestampFromMs(Math.round(destroyAt / 1000) * 1000) }),
  })
}
