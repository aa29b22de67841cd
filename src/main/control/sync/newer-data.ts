import { create } from '@bufbuild/protobuf'
import type { Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { type NewerData, NewerDataSchema } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { Seen } from './seen.ts'

/**
 * Whether a host has accepted desired state of this fleet that this store never sent: the store was put back from a
 * backup or is a copy. Edits made here since do not count, only what was sent; a row that sent nothing is new.
 */
export function hasNewer(
  hosts: { maySent(id: string, seen: Seen): boolean },
  { id, sentEpoch }: Pick<HostRow, 'id' | 'sentEpoch'>,
  seen: Seen,
): boolean {
  if (sentEpoch === 0n) return false
  return seen.epoch > sentEpoch || !hosts.maySent(id, seen)
}

/** What using this store's data would do to the VMs of such a host. */
export function newerData(
  row: Pick<HostRow, 'sentEpoch'>,
  { epoch: lastSeenEpoch }: Pick<Seen, 'epoch'>,
  vms: readonly VmRow[],
  report: Report | undefined,
): NewerData {
  const epochs = { epoch: row.sentEpoch, hostEpoch: lastSeenEpoch }
  if (!report) return create(NewerDataSchema, epochs)
  const there = new Set(report.vms.map((vm) => vm.vmId))
  const quarantined = new Set(report.quarantined.map((vm) => vm.vmId))
  const here = new Set(vms.map((vm) => vm.id))
  return create(NewerDataSchema, {
    ...epochs,
    unknownVms: [...there].filter((id) => !here.has(id)).length,
    missingVms: vms.filter((vm) => !vm.deletedAt && !there.has(vm.id) && !quarantined.has(vm.id)).length,
    deletedVms: vms.filter((vm) => vm.deletedAt && there.has(vm.id)).length,
  })
}
