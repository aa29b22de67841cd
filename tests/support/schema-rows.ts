import { DatabaseSync } from 'node:sqlite'
import { columnsOf, tablesOf } from '../../src/main/control/store/integrity.ts'
import { MIGRATIONS } from '../../src/main/control/store/migrations.ts'

/** What a column holds where any text or number will not do. A column that is not here gets a value by its type. */
const VALUES: Record<string, (n: number) => string | number | null> = {
  'settings.key': (n) => (n === 1 ? 'fleet_id' : 'setting'),
  'settings.value': () => 'f'.repeat(32),
  'tenants.name': (n) => (n === 1 ? 'default' : 'team'),
  'tenants.max_vms': () => 10_000,
  'tenants.max_vcpus': () => 10_000,
  'tenants.max_mem_mb': () => 10_000,
  'tenants.max_disk_gb': () => 10_000,
  'hosts.id': (n) => id('a', n),
  'hosts.kind': (n) => (n === 1 ? 'local' : 'ssh'),
  'hosts.status': () => 'enrolled',
  'hosts.ssh': (n) => (n === 1 ? null : '{"host":"rack","port":22}'),
  'hosts.facts': () => '{"arch":"x86_64"}',
  'hosts.capacity': () => '{"vcpus":4,"memMb":4096,"diskGb":100}',
  'hosts.epoch': () => 7,
  'hosts.sent_epoch': () => 5,
  'hosts.labels': () => '{"rack":"1"}',
  'hosts.credential': () => 'key',
  'hosts.draining': () => '',
  'images.kind': () => 'disk',
  'images.arch': (n) => (n === 1 ? 'x86_64' : 'aarch64'),
  'images.format': () => 'qcow2',
  'images.is_default': () => 1,
  'images.verified': () => 'given',
  'vms.id': (n) => id('b', n),
  'vms.host_id': (n) => id('a', n),
  'vms.image_kind': () => 'kernel',
  'vms.image_format': () => 'raw',
  'vms.power_state': () => 'stopped',
  'vms.force_stop': () => 1,
  'vms.autostart': () => 0,
  'vms.labels': () => '{"a":"b"}',
  'vms.ssh_authorized_keys': () => '["ssh-ed25519 AAAA"]',
  'vms.trusted_cas': () => '[]',
  'vms.injected_key': () => '{"fingerprint":"SHA256:x","comment":"c"}',
  'vms.status': () => 'ready',
  'vms.deleted_at': (n) => (n === 1 ? null : '2026-01-02T03:04:05.000Z'),
  'vms.grace_s': (n) => (n === 1 ? null : 900),
  'vms.clock_policy': () => 'host-only',
  'vms.protected': () => 1,
  'vms.host_cert_required': () => 1,
  'vms.autostart_delay_s': () => 60,
  'vms.autostart_order': () => 3,
  'exposures.id': (n) => id('c', n),
  'exposures.vm_id': () => id('b', 1),
  'exposures.host_id': () => id('a', 1),
  'exposures.guest_port': (n) => n,
  'exposures.host_port': (n) => n,
  'exposures.protocol': () => 'udp',
  'exposures.scope': () => 'loopback',
  'sent_snapshots.host_id': (n) => id('a', n),
  'tasks.state': (n) => (n === 1 ? 'running' : 'done'),
  'tasks.steps': () => '[]',
  'tasks.question': () => null,
  'tasks.fault': () => '{"code":"app/bug"}',
  'tasks.owner': () => '{"user":"ada","client":"app","requestId":"r-1"}',
  'tasks.goes_on': () => '{"how":"again","input":{"name":"tiny"}}',
  'tasks.ended_at': (n) => (n === 1 ? null : '2026-01-02T03:04:05.000Z'),
  'audit.detail': () => '{"name":"web"}',
  'audit.before': () => '{"power":"running"}',
  'audit.after': () => '{"power":"stopped"}',
  'cas.kind': (n) => (n === 1 ? 'host' : 'user'),
  'cas.held': () => 'file',
  'cas.state': () => 'signing',
  'cas.id': (n) => id('d', n),
  'certificates.principals': () => '["web"]',
  'certificates.kind': () => 'user',
  'certificates.ca_id': (n) => id('d', n),
  'templates.spec': () => '{}',
}
const id = (digit: string, n: number) => `${digit.repeat(31)}${n}`

/** A file of schema `n` as that version made it, without rows. Whoever opens closes. */
export function schemaFile(file: string, schema: number): DatabaseSync {
  const handle = new DatabaseSync(file)
  handle.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
  for (const sql of MIGRATIONS.slice(0, schema)) handle.exec(sql)
  handle.exec(`PRAGMA user_version = ${schema}`)
  return handle
}

/** Two rows in every table, no column of them empty that need not be. */
export function fillTables(handle: DatabaseSync): void {
  for (const table of tablesOf(handle)) for (const n of [1, 2]) put(handle, table, n)
  // Before their VMs were there they took some.
  if (columnsOf(handle, 'hosts').includes('draining')) handle.exec("UPDATE hosts SET draining = 'stop'")
}

function put(handle: DatabaseSync, table: string, n: number): void {
  const columns = handle.prepare('SELECT name, type FROM pragma_table_info($table)').all({ table }) as {
    name: string
    type: string
  }[]
  const values = columns.map(({ name, type }) => VALUES[`${table}.${name}`]?.(n) ?? filler(table, name, type, n))
  handle
    .prepare(
      `INSERT OR ${table === 'tenants' ? 'REPLACE' : 'ABORT'} INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`,
    )
    .run(...values)
}

function filler(table: string, name: string, type: string, n: number) {
  if (VALUES[`${table}.${name}`]) return null
  if (name === 'tenant') return 'default'
  if (/_(at|seen|after|before)$|^first_seen$/.test(name)) return `2026-01-0${n}T00:00:00.000Z`
  if (type === 'INTEGER') return 10 + n
  return type === 'BLOB' ? Buffer.from(`${table} ${name} ${n}`) : `${table} ${name} ${n}`
}

/** Every row of every table, by table, in the order they were made; `columns` of another schema leave out what is newer. */
export function allRows(handle: DatabaseSync, columns?: Record<string, string[]>): Record<string, unknown[]> {
  const tables = columns ? Object.keys(columns) : tablesOf(handle)
  return Object.fromEntries(
    tables.map((table) => {
      const names = (columns?.[table] ?? columnsOf(handle, table)).map((name) => `"${name}"`)
      return [
        table,
        handle
          .prepare(`SELECT ${names} FROM ${table} ORDER BY rowid`)
          .all()
          .map((row) => ({ ...row })),
      ]
    }),
  )
}

export const allColumns = (handle: DatabaseSync): Record<string, string[]> =>
  Object.fromEntries(tablesOf(handle).map((table) => [table, columnsOf(handle, table)]))
