import { Fault } from '../../../ipc/faults.ts'
import type { VmRow } from '../store/vm-row.ts'

export interface VmRows {
  findIn(tenant: string, id: string): VmRow | undefined
  findLive(tenant: string, name: string): VmRow | undefined
  listDeleted(tenant: string, name: string): VmRow[]
}

/** Of this tenant: a live VM by name, any by id. One of another tenant is none, here and below. */
export const findVm = (vms: VmRows, tenant: string, ref: string): VmRow | undefined =>
  vms.findLive(tenant, ref) ?? vms.findIn(tenant, ref)

/** Like `findVm`, else the deleted one of that name; raises vm/ambiguous and vm/not-found. */
export function getVm(vms: VmRows, tenant: string, ref: string): VmRow {
  const row = findVm(vms, tenant, ref) ?? onlyOne(vms.listDeleted(tenant, ref), ref)
  if (!row) throw new Fault('vm/not-found', 'permanent', { vm: ref })
  return row
}

/** For what needs a live VM: raises vm/deleted when only a deleted one has that name, else vm/not-found. */
export function getLiveVm(vms: VmRows, tenant: string, ref: string): VmRow {
  const row = findVm(vms, tenant, ref)
  const deleted = row?.deletedAt ? row : vms.listDeleted(tenant, ref)[0]
  if (row && !row.deletedAt) return row
  if (deleted) throw new Fault('vm/deleted', 'permanent', { vm: deleted.name })
  throw new Fault('vm/not-found', 'permanent', { vm: ref })
}

/** For undelete and purge: among deleted ones, by name or id. `lost` leaves out what cannot be meant. Raises vm/ambiguous, vm/not-deleted, vm/not-found. */
export function getDeletedVm(vms: VmRows, tenant: string, ref: string, lost: (vm: VmRow) => boolean): VmRow {
  const byId = vms.findIn(tenant, ref)
  if (byId?.deletedAt) return byId
  const named = vms.listDeleted(tenant, ref)
  const meant = named.filter((vm) => !lost(vm))
  const only = onlyOne(meant.length > 0 ? meant : named, ref)
  if (only) return only
  const live = findVm(vms, tenant, ref)
  if (live) throw new Fault('vm/not-deleted', 'permanent', { vm: live.name })
  throw new Fault('vm/not-found', 'permanent', { vm: ref })
}

function onlyOne(named: readonly VmRow[], ref: string): VmRow | undefined {
  if (named.length > 1)
    throw new Fault('vm/ambiguous', 'permanent', { vm: ref, ids: named.map((vm) => vm.id).join(', ') })
  return named[0]
}
