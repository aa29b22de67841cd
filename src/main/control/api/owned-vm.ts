import { Fault } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmEdit, VmRow } from '../store/vm-row.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { findUnowned, notOfThisFleet } from '../vms/unowned-vms.ts'
import { findVm, getLiveVm, getVm } from '../vms/vm-directory.ts'
import type { FleetView } from './fleet-view.ts'

export interface OwnedVmDeps {
  vms: VmsStore
  hosts: HostsStore
  view: FleetView
}

/** A VM of the tenant that is not deleted, by name or id. Raises vm/not-found, vm/deleted, vm/unowned. */
export const ownedVm = (deps: OwnedVmDeps, tenant: string, ref: string): VmRow => ownedBy(deps, tenant, ref, getLiveVm)

/** One of this fleet; raises vm/unowned where a host keeps the VM that is meant, else what `get` does. */
export function ownedBy(
  { vms, hosts, view }: OwnedVmDeps,
  tenant: string,
  ref: string,
  get: (vms: VmsStore, tenant: string, ref: string) => VmRow,
): VmRow {
  try {
    return get(vms, tenant, ref)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'vm/not-found') throw error
    const unowned = findUnowned(view.unowned(tenant), ref)
    throw unowned ? notOfThisFleet(unowned, hosts.findIn(tenant, unowned.hostId)) : error
  }
}

/** Looking is open to VMs of no fleet too. Raises vm/not-found and vm/ambiguous. */
export function shownVm({ vms, view }: OwnedVmDeps, tenant: string, ref: string): Vm | undefined {
  const row = findVm(vms, tenant, ref)
  const unowned = row ? undefined : findUnowned(view.unowned(tenant), ref)
  return unowned ? view.findVm(tenant, unowned.id) : view.vm(row ?? getVm(vms, tenant, ref))
}

export interface Mutation {
  /** Whose it is is found out here, before anything: another tenant's is none. */
  find(): VmRow
  /** For the audit trail, `vm.verb`. */
  action: string
  /** The change; undefined = there is none, and nothing is written. */
  plan(row: VmRow): VmEdit | undefined
  detail?: Record<string, string>
}

/**
 * The one way a VM's desired state is changed: whose it is, the change, and with it in one transaction its audit row, the
 * poke of its host and the word to every watcher. Success from then on, even when the VM is gone by the time of the
 * answer. Raises what `find` and `plan` do, vm/name-taken, vm/protected, tenant/over-quota.
 */
export function mutateVm({ vms, view }: Pick<OwnedVmDeps, 'vms' | 'view'>, mutation: Mutation) {
  const row = mutation.find()
  const edit = mutation.plan(row)
  const next = edit ? vms.edit(row.id, mutation.action, edit, mutation.detail) : row
  return { row: next, vm: vms.find(next.id) ? view.vm(next) : undefined }
}
