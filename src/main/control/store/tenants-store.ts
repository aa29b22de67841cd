import { Fault } from '../../../ipc/faults.ts'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import type { AuditStore } from './audit-store.ts'
import { changedFields } from './changed-fields.ts'
import { brokeConstraint, type Database } from './database.ts'

/** How long a deleted VM can be brought back where its tenant says nothing, seconds. */
export const DEFAULT_GRACE_S = 7 * 24 * 3600
const MAX_TENANTS = 256

/** Null = no limit; for `graceS` the default one. */
export interface TenantLimits {
  maxVms: number | null
  maxVcpus: number | null
  maxMemMb: number | null
  maxDiskGb: number | null
  graceS: number | null
}

export interface TenantRow extends TenantLimits {
  name: string
  createdAt: Date
  hosts: number
  /** Of VMs that are not deleted, but for the disks: those are there until they are destroyed. */
  used: { vms: number; vcpus: number; memMb: number; diskGb: number }
}

interface Raw {
  name: string
  created_at: string
  max_vms: number | null
  max_vcpus: number | null
  max_mem_mb: number | null
  max_disk_gb: number | null
  grace_s: number | null
  hosts: number
  vms: number
  vcpus: number
  mem_mb: number
  disk_gb: number
}

const SELECT = `
  SELECT tenants.*,
    (SELECT count(*) FROM hosts WHERE tenant = tenants.name) hosts,
    count(vms.id) FILTER (WHERE vms.deleted_at IS NULL) vms,
    coalesce(sum(vms.vcpus) FILTER (WHERE vms.deleted_at IS NULL), 0) vcpus,
    coalesce(sum(vms.mem_mb) FILTER (WHERE vms.deleted_at IS NULL), 0) mem_mb,
    coalesce(sum(vms.disk_gb), 0) disk_gb
  FROM tenants LEFT JOIN vms ON vms.tenant = tenants.name WHERE tenants.name <> '${SYSTEM_TENANT}'`

/** Partitions of names, authorities, quotas and audit. Quotas are kept by triggers on VMs, whoever writes them. */
export class TenantsStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  has(name: string): boolean {
    return this.#db.find('SELECT 1 FROM tenants WHERE name = $name', { name }) !== undefined
  }

  /** Without the system's own, by name. */
  list(): TenantRow[] {
    return this.#db.list<Raw>(`${SELECT} GROUP BY tenants.name ORDER BY tenants.name`).map(rowOf)
  }

  find(name: string): TenantRow | undefined {
    const raw = this.#db.find<Raw>(`${SELECT} AND tenants.name = $name GROUP BY tenants.name`, { name })
    return raw && rowOf(raw)
  }

  /** Raises tenant/not-found, for the system's own too. */
  get(name: string): TenantRow {
    const row = this.find(name)
    if (!row) throw new Fault('tenant/not-found', 'permanent', { tenant: name })
    return row
  }

  /** Of VMs deleted from now on, seconds. Raises tenant/not-found. */
  graceS(name: string): number {
    return this.get(name).graceS ?? DEFAULT_GRACE_S
  }

  /** Raises tenant/name-taken, for the system's own too, and input/too-large past 256 tenants. */
  create(name: string, limits: TenantLimits): TenantRow {
    return this.#db.transaction(() => {
      const { n } = this.#db.find<{ n: number }>('SELECT count(*) n FROM tenants') ?? { n: 0 }
      if (n > MAX_TENANTS)
        throw new Fault('input/too-large', 'permanent', { detail: `there are ${MAX_TENANTS} tenants already` })
      try {
        this.#db.run(
          `INSERT INTO tenants (name, created_at, max_vms, max_vcpus, max_mem_mb, max_disk_gb, grace_s)
           VALUES ($name, $createdAt, $maxVms, $maxVcpus, $maxMemMb, $maxDiskGb, $graceS)`,
          { ...limits, name, createdAt: new Date(this.#now()).toISOString() },
        )
      } catch (error) {
        if (!brokeConstraint(error, 'tenants.name')) throw error
        throw new Fault('tenant/name-taken', 'conflict', { tenant: name }, { cause: error })
      }
      this.#audit.changed({ action: 'tenant.create', tenant: name, detail: { name } }, undefined, { name, ...limits })
      return this.get(name)
    })
  }

  /** Limits below what is used take nothing away: they refuse more. Raises tenant/not-found. */
  update(name: string, change: Partial<TenantLimits>): TenantRow {
    return this.#db.transaction(() => {
      const before = limitsOf(this.get(name))
      const after = { ...before, ...change }
      if (!changedFields(before, after)) return this.get(name)
      this.#db.run(
        `UPDATE tenants SET max_vms = $maxVms, max_vcpus = $maxVcpus, max_mem_mb = $maxMemMb, max_disk_gb = $maxDiskGb,
           grace_s = $graceS WHERE name = $name`,
        { ...after, name },
      )
      this.#audit.changed({ action: 'tenant.update', tenant: name, detail: { name } }, before, after)
      return this.get(name)
    })
  }
}

const limitsOf = ({ maxVms, maxVcpus, maxMemMb, maxDiskGb, graceS }: TenantLimits): TenantLimits => ({
  ...{ maxVms, maxVcpus, maxMemMb, maxDiskGb, graceS },
})

const rowOf = (raw: Raw): TenantRow => ({
  name: raw.name,
  createdAt: new Date(raw.created_at),
  maxVms: raw.max_vms,
  maxVcpus: raw.max_vcpus,
  maxMemMb: raw.max_mem_mb,
  maxDiskGb: raw.max_disk_gb,
  graceS: raw.grace_s,
  hosts: raw.hosts,
  used: { vms: raw.vms, vcpus: raw.vcpus, memMb: raw.mem_mb, diskGb: raw.disk_gb },
})
