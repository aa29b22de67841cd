import { type Command, InvalidArgumentError } from 'commander'
import { ListTenantsResponseSchema, type Tenant, TenantSchema } from '../../ipc/gen/eitri/fleet/v1/tenant_pb.js'
import { check } from '../../ipc/rules.ts'
import type { Runner } from './context.ts'
import { longDuration, wholeNumber } from './options.ts'
import { invalid } from './outcome.ts'
import { sheet, table } from './table.ts'

type Limit = number | 'none'

interface LimitOptions {
  maxVms?: Limit
  maxVcpus?: Limit
  maxMemMb?: Limit
  maxDiskGb?: Limit
  grace?: Limit
}

export function tenantCommands(root: Command, run: Runner): void {
  const tenant = root.command('tenant').description('partitions of names, SSH authorities, quotas and audit')
  run(tenant.command('list').description('all tenants'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).tenants.listTenants({}, { signal: context.signal })
    await context.answer(ListTenantsResponseSchema, answer, () =>
      table(
        ['NAME', 'HOSTS', 'VMS', 'VCPUS', 'MEMORY MIB', 'DISKS GIB', 'UNDELETE FOR'],
        answer.tenants.map((t) => [
          t.name,
          String(t.hosts),
          of(t.vms, t.limits?.maxVms),
          of(t.vcpus, t.limits?.maxVcpus),
          of(t.memMb, t.limits?.maxMemMb),
          of(t.diskGb, t.limits?.maxDiskGb),
          graceWord(t),
        ]),
      ),
    )
  })
  run(
    withLimits(tenant.command('create <name>').description('a new tenant with SSH authorities of its own')).option(
      '--if-absent',
      'be content when a tenant of this name is there',
    ),
    async (context, name: string, options: LimitOptions & { ifAbsent?: boolean }) => {
      context.deadline()
      const { limits } = limitsOf(options)
      check('createTenant', { name, limits })
      const request = { name, limits, ifAbsent: options.ifAbsent ?? false }
      const answer = await (await context.fleet()).tenants.createTenant(request, { signal: context.signal })
      if (answer.tenant) await context.answer(TenantSchema, answer.tenant, () => tenantSheet(answer.tenant!))
    },
  )
  run(
    withLimits(
      tenant.command('set <name>').description('its quotas, and how long its deleted VMs can be brought back'),
    ),
    async (context, name: string, options: LimitOptions) => {
      context.deadline()
      const { limits, lift } = limitsOf(options)
      if (Object.keys(limits).length + lift.length === 0) throw invalid('set', '', 'say what to set, e.g. --max-vms 10')
      check('updateTenant', { name, limits, lift })
      const request = { name, limits, lift }
      const answer = await (await context.fleet()).tenants.updateTenant(request, { signal: context.signal })
      if (answer.tenant) await context.answer(TenantSchema, answer.tenant, () => tenantSheet(answer.tenant!))
    },
  )
}

const withLimits = (command: Command) =>
  command
    .option('--max-vms <n>', 'VMs that are not deleted, or none', limit)
    .option('--max-vcpus <n>', 'their processors, or none', limit)
    .option('--max-mem-mb <n>', 'their memory in MiB, or none', limit)
    .option('--max-disk-gb <n>', 'disks in GiB, of deleted VMs too, or none', limit)
    .option('--grace <time>', 'deleted VMs can be brought back for this long, e.g. 7d; 0 = not at all', grace)

const limit = (text: string): Limit => (text === 'none' ? 'none' : wholeNumber(text))

function grace(text: string): Limit {
  if (text === 'none') return 'none'
  const ms = text === '0' ? 0 : longDuration(text)
  if (ms % 1_000 !== 0) throw new InvalidArgumentError('use whole seconds.')
  return ms / 1_000
}

function limitsOf({ maxVms, maxVcpus, maxMemMb, maxDiskGb, grace: graceS }: LimitOptions) {
  const all = Object.entries({ maxVms, maxVcpus, maxMemMb, maxDiskGb, graceS })
  return {
    limits: Object.fromEntries(all.filter(([, value]) => typeof value === 'number')) as Record<string, number>,
    lift: all
      .filter(([, value]) => value === 'none')
      .map(([name]) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)),
  }
}

const of = (used: number | bigint, most: number | undefined) => (most === undefined ? `${used}` : `${used} of ${most}`)

function graceWord({ limits }: Tenant): string {
  const s = limits?.graceS ?? 7 * 86_400
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const)
    if (s >= length && s % length === 0) return `${s / length}${unit}`
  return s === 0 ? 'not at all' : `${s}s`
}

const tenantSheet = (t: Tenant) =>
  sheet([
    ['name', t.name],
    ['hosts', t.hosts],
    ['VMs', of(t.vms, t.limits?.maxVms)],
    ['processors', of(t.vcpus, t.limits?.maxVcpus)],
    ['memory MiB', of(t.memMb, t.limits?.maxMemMb)],
    ['disks GiB', of(t.diskGb, t.limits?.maxDiskGb)],
    ['undelete for', graceWord(t)],
  ])
