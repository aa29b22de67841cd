import { Fault } from '../../../ipc/faults.ts'
import type { Database } from './database.ts'

/** What a write would have added to what its tenant has. */
export interface Wanted {
  vms: number
  vcpus: number
  memMb: number
  diskGb: number
}

const QUOTAS: Record<string, { wanted: keyof Wanted; used: string }> = {
  max_vms: { wanted: 'vms', used: 'count(*) FILTER (WHERE deleted_at IS NULL)' },
  max_vcpus: { wanted: 'vcpus', used: 'sum(vcpus) FILTER (WHERE deleted_at IS NULL)' },
  max_mem_mb: { wanted: 'memMb', used: 'sum(mem_mb) FILTER (WHERE deleted_at IS NULL)' },
  max_disk_gb: { wanted: 'diskGb', used: 'sum(disk_gb)' },
}

/** tenant/over-quota where a quota's trigger refused the write, else the error itself. Within the refused write's transaction. */
export function quotaFault(db: Database, error: unknown, tenant: string, wanted: Wanted): unknown {
  if (!(error instanceof Fault) || error.code !== 'store/conflict') return error
  const [, name = ''] = /^over quota (\w+)$/.exec(error.params['constraint'] ?? '') ?? []
  const quota = QUOTAS[name]
  if (!quota) return error
  const row = db.find<{ used: number | null; most: number }>(
    `SELECT (SELECT ${quota.used} FROM vms WHERE tenant = $tenant) used, ${name} most FROM tenants WHERE name = $tenant`,
    { tenant },
  )
  const params = { quota: name, used: String(row?.used ?? 0), wanted: String(wanted[quota.wanted]) }
  return new Fault(
    'tenant/over-quota',
    'permanent',
    { tenant, ...params, most: String(row?.most ?? 0) },
    { cause: error },
  )
}

/** What an edit adds: a VM that comes back counts anew, but for its disk. */
export const wantedMore = (before: Sized, after: Sized): Wanted => {
  const back = before.deletedAt !== null && after.deletedAt === null
  const from = back ? { vcpus: 0, memMb: 0 } : before
  return {
    vms: back ? 1 : 0,
    vcpus: after.vcpus - from.vcpus,
    memMb: after.memMb - from.memMb,
    diskGb: after.diskGb - before.diskGb,
  }
}

interface Sized {
  vcpus: number
  memMb: number
  diskGb: number
  deletedAt: Date | null
}
