import { createHash } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  type DesiredState,
  DesiredStateSchema,
  type Snapshot,
  SnapshotSchema,
} from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { TombstoneSchema, type VmSpec, VmSpecSchema } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { ExposureRow } from '../store/exposures-store.ts'
import type { VmRow } from '../store/vm-row.ts'

/** What a snapshot says of the SSH trust of a tenant that no VM's row says. */
export interface SnapshotTrust {
  /** User CAs in use now, one key line each: for VMs that had none recorded. */
  userCas(tenant: string): string[]
  /** OpenSSH list of revoked certificates; empty = none is. */
  krl(tenant: string): Uint8Array
  /** Whether a CA here could sign guests' host keys, now or once its private key can be had. */
  hasHostCa(tenant: string): boolean
}

const NO_TRUST: SnapshotTrust = { userCas: () => [], krl: () => new Uint8Array(), hasHostCa: () => false }

/** One VM as its host is told it should be. */
export function vmSpecOf(vm: VmRow, trust: Pick<SnapshotTrust, 'userCas' | 'hasHostCa'> = NO_TRUST): VmSpec {
  return create(VmSpecSchema, {
    vmId: vm.id,
    name: vm.name,
    imageUrl: vm.imageUrl,
    imageSha256: vm.imageSha256,
    imageKind: vm.imageKind,
    imageFormat: vm.imageFormat,
    cloudInit: vm.cloudInit,
    vcpus: vm.vcpus,
    memMb: vm.memMb,
    diskGb: vm.diskGb,
    persistent: true,
    powerState: vm.powerState,
    ...(vm.deletedAt ? { tombstone: create(TombstoneSchema, { graceS: BigInt(vm.graceS ?? 0) }) } : {}),
    sshAuthorizedKeys: vm.sshAuthorizedKeys,
    sshUserCaAuthorizedKeys: vm.trustedCas ?? trust.userCas(vm.tenant),
    // Nobody is told to wait for what nobody can give.
    hostCertRequired: vm.hostCertRequired && (vm.hostCertificate !== '' || trust.hasHostCa(vm.tenant)),
    sshHostCert: vm.hostCertificate,
    network: vm.network,
    backend: vm.backend,
    forceStop: vm.forceStop,
    restartCount: BigInt(vm.restartCount),
    autostart: vm.autostart,
    tenant: vm.tenant,
    // As before the field: an upgrade of the app must not change what an epoch says.
    clockPolicy: vm.clockPolicy === 'auto' ? '' : vm.clockPolicy,
    autostartDelayS: vm.autostartDelayS,
    autostartOrder: vm.autostartOrder,
    cloneOf: vm.cloneOf,
  })
}

/** Everything one host should have, in the order of ids, so that equal states encode to equal bytes. */
export function buildDesiredState(
  vms: readonly VmRow[],
  exposures: readonly ExposureRow[],
  tenant = '',
  trust: SnapshotTrust = NO_TRUST,
): DesiredState {
  const live = new Set(vms.filter((vm) => !vm.deletedAt).map((vm) => vm.id))
  const published = byId(exposures).filter(({ vmId }) => live.has(vmId))
  const once = { userCas: oncePerTenant(trust.userCas), hasHostCa: oncePerTenant(trust.hasHostCa) }
  return create(DesiredStateSchema, {
    vms: byId(vms).map((vm) => vmSpecOf(vm, once)),
    exposures: published.map(exposureOf),
    sshKrl: trust.krl(tenant),
  })
}

/** Asked anew for each snapshot, and for each tenant once in it. */
function oncePerTenant<T>(ask: (tenant: string) => T): (tenant: string) => T {
  const known = new Map<string, T>()
  return (tenant) => {
    const value = known.get(tenant) ?? ask(tenant)
    known.set(tenant, value)
    return value
  }
}

const byId = <T extends { id: string }>(rows: readonly T[]): T[] => [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))

const exposureOf = ({ id, vmId, guestPort, hostPort, protocol, scope }: ExposureRow) => ({
  id,
  vmId,
  guestPort,
  hostPort,
  protocol,
  scope,
})

/** SHA-256 of the encoded state. */
export const digestOf = (state: DesiredState): Uint8Array =>
  createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()

export const buildSnapshot = (epoch: bigint, state: DesiredState, contentSha256: Uint8Array): Snapshot =>
  create(SnapshotSchema, { epoch, state, contentSha256 })
