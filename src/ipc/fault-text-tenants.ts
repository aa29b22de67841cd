import { NOTHING, or, type P, t, v } from './fault-parts.ts'

const UNITS: Record<string, string> = {
  max_vms: 'VMs',
  max_vcpus: 'processors',
  max_mem_mb: 'MiB of memory',
  max_disk_gb: 'GiB of disks',
}

/** Words of `tenant/*`. */
export const TENANT_TEXT = {
  'tenant/not-found': (p: P) =>
    t(`There is no tenant ${or(p['tenant'], 'of that name')}.`, NOTHING, 'See the names with "eitri tenant list".'),
  'tenant/name-taken': (p: P) =>
    t(`A tenant named ${v(p, 'tenant')} is already here.`, NOTHING, 'Choose another name.'),
  'tenant/over-quota': (p: P) =>
    t(
      `Tenant ${v(p, 'tenant')} may have ${v(p, 'most')} ${or(UNITS[p['quota'] ?? ''], or(p['quota'], 'of it'))}: it has ${v(p, 'used')} and ${v(p, 'wanted')} more ${p['wanted'] === '1' ? 'was' : 'were'} asked for.`,
      NOTHING,
      p['quota'] === 'max_disk_gb'
        ? 'Purge VMs that are deleted, or raise the quota with "eitri tenant set".'
        : 'Delete VMs, or raise the quota with "eitri tenant set".',
    ),
}
