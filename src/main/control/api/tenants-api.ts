import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Tenant, TenantSchema, type TenantService } from '../../../ipc/gen/eitri/fleet/v1/tenant_pb.js'
import { type Checked, check } from '../../../ipc/rules.ts'
import type { TenantLimits, TenantRow, TenantsStore } from '../store/tenants-store.ts'

export interface TenantsApiDeps {
  tenants: TenantsStore
  /** Gives a tenant what it needs from its first moment. Idempotent: called again for one that is there already. */
  onTenantCreated(tenant: string): Promise<void>
}

const NONE: TenantLimits = { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null }

/** Tenants are partitions made by the one person who runs the app: this service alone looks over all of them. */
export function tenantsApi({ tenants, onTenantCreated }: TenantsApiDeps): ServiceImpl<typeof TenantService> {
  return {
    listTenants: () => ({ tenants: tenants.list().map(tenantView) }),
    createTenant: async (request) => {
      const { name, limits } = check('createTenant', { ...request, limits: request.limits ?? {} })
      const known = request.ifAbsent ? tenants.find(name) : undefined
      const row = known ?? tenants.create(name, { ...NONE, ...given(limits) })
      await onTenantCreated(name)
      return { tenant: tenantView(row), created: !known }
    },
    updateTenant: (request) => {
      const { name, limits, lift } = check('updateTenant', { ...request, limits: request.limits ?? {} })
      const lifted = Object.fromEntries(lift.map((field) => [LIFTED[field], null]))
      return { tenant: tenantView(tenants.update(name, { ...given(limits), ...lifted })) }
    },
  }
}

const LIFTED = {
  max_vms: 'maxVms',
  max_vcpus: 'maxVcpus',
  max_mem_mb: 'maxMemMb',
  max_disk_gb: 'maxDiskGb',
  grace_s: 'graceS',
} as const

const given = (limits: Checked<'createTenant'>['limits']): Partial<TenantLimits> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))

function tenantView(row: TenantRow): Tenant {
  const { name, createdAt, hosts, used, maxVms, maxVcpus, maxMemMb, maxDiskGb, graceS } = row
  const limits = Object.entries({ maxVms, maxVcpus, maxMemMb, maxDiskGb, graceS }).filter(([, value]) => value !== null)
  return create(TenantSchema, {
    name,
    createdAt: timestampFromDate(createdAt),
    limits: Object.fromEntries(limits),
    hosts,
    vms: used.vms,
    vcpus: used.vcpus,
    memMb: BigInt(used.memMb),
    diskGb: BigInt(used.diskGb),
  })
}
