import { createHash } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  type DesiredState,
  DesiredStateSchema,
  type Snapshot,
  SnapshotSchema,
} from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { TombstoneSchema, type VmSpec, VmSpecSchema } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { VmRow } from '../store/vm-row.ts'

/** One VM as its host is told it should be. */
export function vmSpecOf(vm: VmRow): VmSpec {
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
    sshUserCaAuthorizedKeys: vm.trustedCas ?? [],
    hostCertRequired: false,
    network: vm.network,
    backend: vm.backend,
    forceStop: vm.forceStop,
    restartCount: BigInt(vm.restartCount),
    autostart: vm.autostart,
    tenant: vm.tenant,
    // As before the field: an upgrade of the app must not change what an epoch says.
    clockPolicy: vm.clockPolicy === 'auto' ? '' : vm.clockPolicy,
  })
}

/** Everything one host should have, in the order of ids, so that equal states encode to equal bytes. */
export function buildDesiredState(vms: readonly VmRow[]): DesiredState {
  const ordered = [...vms].sort((a, b) => (a.id < b.id ? -1 : 1))
  return create(DesiredStateSchema, { vms: ordered.map(vmSpecOf) })
}

/** SHA-256 of the encoded state. */
export const digestOf = (state: DesiredState): Uint8Array =>
  createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()

export const buildSnapshot = (epoch: bigint, state: DesiredState, contentSha256: Uint8Array): Snapshot =>
  create(SnapshotSchema, { epoch, state, contentSha256 })
