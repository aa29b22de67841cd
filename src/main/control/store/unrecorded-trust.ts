import type { CasStore } from './cas-store.ts'
import type { VmsStore } from './vms-store.ts'

/** VMs without a recorded set of trusted CAs get the one that snapshots told of so far: their tenant's. Idempotent. */
export function freezeUnrecorded({ cas, vms }: { cas: CasStore; vms: VmsStore }): void {
  for (const tenant of cas.tenants()) {
    const set = cas.inUse(tenant, 'user').map(({ publicKey }) => publicKey)
    if (set.length > 0) vms.freezeUnrecorded(tenant, set)
  }
}
