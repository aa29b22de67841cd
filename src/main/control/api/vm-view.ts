import { create } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { faultText, printable } from '../../../ipc/fault-text.ts'
import type { QuarantinedVm, VmRow as ReportedVm } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { type Vm, VmSchema } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { lifecycleOf, UNDER_WAY } from '../../../ipc/lifecycle.ts'
import { connectName } from '../../../ipc/names.ts'
import { guestClockView, guestView, heardOf } from '../clock/clock-view.ts'
import type { PushState } from '../hosts/image-push.ts'
import type { HostRow } from '../store/host-row.ts'
import type { VmRow } from '../store/vm-row.ts'
import { isAnswering } from '../sync/answering.ts'
import type { HostLive } from '../sync/registry.ts'
import { guestTrustView, hostCertificateOf } from '../trust/vm-trust-view.ts'
import type { UnownedVm } from '../vms/unowned-vms.ts'

export interface VmSurroundings {
  host: HostRow
  live: HostLive
  /** Name of the catalogue image with these bytes; empty = none. */
  imageName: string
  /** Its image on the way to the host; absent = nothing is known of that. */
  push?: PushState
  monotonicNow: number
}

/** A VM's row and what its host last said of it. What nobody said is absent. */
export function vmView(row: VmRow, around: VmSurroundings): Vm {
  const { host, live, imageName, monotonicNow } = around
  const seen = live.vms?.get(row.id)
  const quarantined = live.quarantined?.get(row.id)
  const deleted = row.deletedAt !== null
  const failed = row.status === 'failed'
  const lastPhase = seen?.phase ?? (row.status || undefined)
  const returning = quarantined !== undefined && !deleted
  const destroyAt = deleted ? quarantined?.destroyAt : undefined
  const power = quarantined ? 'stopped' : seen?.power
  const toldOf = seen !== undefined || quarantined !== undefined
  const asOf = live.report ? toldOf && live.reportedAt : host.lastSeenAt
  return create(VmSchema, {
    id: row.id,
    name: row.name,
    hostId: host.id,
    hostName: host.name,
    tenant: row.tenant,
    imageName,
    imageSha256: row.imageSha256,
    imageUrl: row.imageUrl,
    vcpus: row.vcpus,
    memMb: row.memMb,
    diskGb: row.diskGb,
    desiredPower: row.powerState,
    lifecycle: lifecycleOf({ deleted, phase: lastPhase, power, desiredPower: row.powerState }),
    reason: seen ? seen.reason : failed ? row.lastReason : '',
    detail: returning
      ? UNDER_WAY.returning
      : seen
        ? seen.detail
        : (quarantined?.detail ?? (failed ? row.lastError : '')),
    ip: seen?.ip || row.assignedIp,
    networkIp: seen?.networkIp || row.networkIp,
    network: row.network,
    createdAt: timestampFromDate(row.createdAt),
    labels: row.labels,
    autostart: row.autostart,
    clockPolicy: row.clockPolicy,
    protected: row.protected,
    autostartDelayS: row.autostartDelayS,
    autostartOrder: row.autostartOrder,
    cloneOf: row.cloneOf,
    cloudInitBytes: row.cloudInit.length,
    needsRestart: seen?.needsRestart ?? [],
    sshName: connectName(row.tenant, row.name),
    hostUnknown: !isAnswering(live, monotonicNow),
    ...(asOf ? { asOf: timestampFromDate(asOf) } : {}),
    ...(row.deletedAt ? { deletedAt: timestampFromDate(row.deletedAt) } : {}),
    ...(destroyAt ? { quarantineEndsAt: destroyAt } : {}),
    ...(quarantined ? { power: 'stopped', ...metricsOf(quarantined.metrics) } : {}),
    ...(row.injectedKey ? { injectedKey: row.injectedKey } : {}),
    ...(row.trustedCas ? { trustedCas: { publicKeys: row.trustedCas } } : {}),
    ...hostCertificateOf(row.hostCertificate),
    ...(seen?.trust ? { trust: guestTrustView(seen.trust, live, monotonicNow) } : {}),
    ...liveFields(seen),
    ...guestFields(seen, live, monotonicNow),
    ...(seen && waitsForPush(row, seen, live) && isAnswering(live, monotonicNow) ? pushFields(seen, around) : {}),
  })
}

/** Its host has nothing else to say of it than that the image is not there yet. */
const waitsForPush = (row: VmRow, seen: ReportedVm, { report }: HostLive): boolean =>
  seen.phase === 'creating' &&
  seen.reason === '' &&
  row.imageUrl === '' &&
  (report?.wantedImages.some(({ sha256 }) => sha256 === row.imageSha256) ?? false)

function pushFields(seen: ReportedVm, { host, imageName, push }: VmSurroundings) {
  if (push?.fault) {
    const { code, params } = push.fault
    const names = { host: host.name, ...(imageName ? { image: imageName } : {}) }
    return { reason: code, detail: printable(params['said'] ?? '') || faultText(code, { ...params, ...names }).what }
  }
  if (!push?.progress) return {}
  const { doneBytes, totalBytes } = push.progress
  const bytes = { doneBytes: BigInt(doneBytes), totalBytes: BigInt(totalBytes) }
  const { step = 1, steps = 1 } = seen.progress ?? {}
  return { detail: 'sending the image to the host', progress: { step, steps, ...bytes } }
}

/** A VM its host keeps that no row here names. In quarantine it is stopped, and stays there until somebody adopts it. */
export function unownedView(
  { id, spec, seen, quarantined }: UnownedVm,
  around: Omit<VmSurroundings, 'imageName' | 'push'> & { held: boolean },
): Vm {
  const { host, live, held, monotonicNow } = around
  const desiredPower = quarantined ? 'stopped' : (spec?.powerState ?? '')
  const { phase, power } = quarantined ? { phase: 'ready', power: 'stopped' } : (seen ?? {})
  return create(VmSchema, {
    id,
    name: spec?.name ?? '',
    hostId: host.id,
    hostName: host.name,
    tenant: host.tenant,
    imageSha256: spec?.imageSha256 ?? '',
    vcpus: spec?.vcpus ?? 0,
    memMb: spec?.memMb ?? 0,
    diskGb: spec?.diskGb ?? 0,
    desiredPower,
    lifecycle: lifecycleOf({ deleted: false, phase, power, desiredPower: desiredPower || 'running' }),
    reason: seen?.reason ?? '',
    detail: !spec && held ? 'not known until its host is taken over' : (seen?.detail ?? deletedDetail(quarantined)),
    ip: seen?.ip ?? '',
    networkIp: seen?.networkIp ?? '',
    hostUnknown: !isAnswering(live, monotonicNow),
    unowned: true,
    ...(live.reportedAt ? { asOf: timestampFromDate(live.reportedAt) } : {}),
    ...(quarantined ? { power: 'stopped', phase: 'ready', ...metricsOf(quarantined.metrics) } : {}),
    ...liveFields(seen),
    ...guestFields(seen, live, monotonicNow),
  })
}

/** Who deleted it, nobody says. */
function deletedDetail({ detail, destroyAt }: Partial<QuarantinedVm> = {}): string {
  if (detail) return detail
  const until = destroyAt ? timestampDate(destroyAt).toISOString() : 'adopted'
  return `was deleted; kept there until ${until}`
}

/** One that does not run has no clock, whatever was last measured. */
function guestFields(seen: ReportedVm | undefined, live: HostLive, monotonicNow: number) {
  const heard = heardOf(live, monotonicNow)
  if (!seen || !heard || seen.power !== 'running') return {}
  return {
    ...(seen.guest ? { guest: guestView(seen.guest, heard) } : {}),
    ...(seen.clock ? { clock: guestClockView(seen.clock, heard) } : {}),
  }
}

function metricsOf(metrics: ReportedVm['metrics']) {
  if (!metrics) return {}
  const { $typeName, $unknown, ...values } = metrics
  return { metrics: values }
}

function liveFields(seen: ReportedVm | undefined) {
  if (!seen) return {}
  const { progress } = seen
  return {
    acceleration: seen.acceleration,
    ...(seen.phase === undefined ? {} : { phase: seen.phase }),
    ...(seen.power === undefined ? {} : { power: seen.power }),
    ...(seen.startedAt ? { startedAt: seen.startedAt } : {}),
    ...metricsOf(seen.metrics),
    ...(progress
      ? {
          progress: {
            step: progress.step,
            steps: progress.steps,
            doneBytes: progress.doneBytes,
            ...(progress.totalBytes === undefined ? {} : { totalBytes: progress.totalBytes }),
          },
        }
      : {}),
  }
}
