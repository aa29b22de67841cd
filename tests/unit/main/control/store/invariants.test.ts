import { describe, expect, it } from 'vitest'
import type { Database } from '../../../../../src/main/control/store/database.ts'
import { openDatabase } from '../../../../../src/main/control/store/database-open.ts'
import { buildDesiredState, digestOf } from '../../../../../src/main/control/sync/snapshot-builder.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'

/** One host with a VM, one VM deleted, a published port, an image in use, a task that runs and one that ended. */
function aFleet() {
  const stores = aStore()
  const { db, hosts, vms, exposures, settings } = stores
  settings.fleetId()
  const host = hosts.create(aHost())
  const vm = vms.create(aVm(host.id, { name: 'web' }))
  const deleted = vms.create(aVm(host.id, { name: 'old' }))
  vms.edit(deleted.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
  exposures.create({ id: 'c'.repeat(32), vmId: vm.id, guestPort: 80, hostPort: 80, protocol: 'tcp', scope: 'lan' })
  db.run("INSERT INTO tenants (name, created_at) VALUES ('team', '')")
  db.run(
    `INSERT INTO images (id, name, kind, arch, url, sha256, created_at)
     VALUES ('i', 'tiny', 'kernel', 'x86_64', '', $sha256, '')`,
    { sha256: vm.imageSha256 },
  )
  for (const [id, state, ended] of [
    ['t', 'running', null],
    ['u', 'done', '2026-01-01T00:00:00.000Z'],
  ] as const)
    db.run(
      `INSERT INTO tasks (id, kind, subject, state, created_at, ended_at) VALUES ($id, 'add_host', '', $state, '', $ended)`,
      { id, state, ended },
    )
  hosts.stampSnapshot(host.id, 'digest')
  return { ...stores, host, vm, deleted }
}

const set = (table: string, change: string, where = 'true') => `UPDATE ${table} SET ${change} WHERE ${where}`
const LIVE = 'deleted_at IS NULL'
const insert = (table: string, change: Record<string, string>) => (db: Database) => {
  const [raw] = db.list<Record<string, string | number | null>>(`SELECT * FROM ${table} ORDER BY rowid LIMIT 1`)
  const row: Record<string, string | number | null> = { ...raw, ...change }
  const names = Object.keys(row)
  db.run(`INSERT INTO ${table} (${names.map((n) => `"${n}"`)}) VALUES (${names.map((n) => `$${n}`)})`, row)
}
const template = (change: Record<string, string>) => (db: Database) =>
  db.run(
    `INSERT INTO templates (id, tenant, name, spec, cloud_init, created_at) VALUES ('x', $tenant, 'small', $spec, x'', '')`,
    { tenant: 'default', spec: '{}', ...change },
  )
const NEW_VM = { id: 'e'.repeat(32), name: 'new' }

/** Words of the refusal, and what is refused with them. */
const REFUSED: Record<string, (string | ((db: Database) => unknown))[]> = {
  'a fleet keeps its id': [
    set('settings', "value = 'x'", "key = 'fleet_id'"),
    "DELETE FROM settings WHERE key = 'fleet_id'",
  ],
  'the default and the system tenant stay': ["DELETE FROM tenants WHERE name = 'system'"],
  'a host keeps its id and tenant': [set('hosts', "tenant = 'team'"), set('hosts', "id = 'x'")],
  'epochs never fall': [set('hosts', 'epoch = epoch - 1, sent_epoch = sent_epoch - 1'), set('hosts', 'sent_epoch = 0')],
  'only an epoch that is there can be sent': [set('hosts', 'sent_epoch = epoch + 1')],
  'one epoch has one content': [set('hosts', "sent_digest = 'other'")],
  'a host is local or reached by ssh': [set('hosts', "kind = 'cloud'"), insert('hosts', { ...other(), kind: 'cloud' })],
  'a host is enrolled or decommissioning': [
    set('hosts', "status = 'gone'"),
    insert('hosts', { ...other(), status: '' }),
  ],
  'ssh, facts, capacity and labels of a host are JSON': [
    set('hosts', "ssh = '{'"),
    set('hosts', "facts = 'x'"),
    set('hosts', "labels = ''"),
    insert('hosts', { ...other(), capacity: '{' }),
  ],
  'nothing lives in the system tenant': [
    insert('hosts', { ...other(), tenant: 'system' }),
    template({ tenant: 'system' }),
    (db) => db.run(`INSERT INTO cas VALUES ('a', 'system', 'user', 'a', 'k', 'f', 'file', 'signing', '', NULL)`),
  ],
  'a VM keeps its id, host and tenant': [
    set('vms', "id = 'x'", LIVE),
    set('vms', "tenant = 'team'", LIVE),
    set('vms', "created_at = ''", LIVE),
  ],
  'a VM is of the tenant of its host': [insert('vms', { ...NEW_VM, tenant: 'team' })],
  'a deleted VM has a grace, and no other has one': [
    set('vms', 'grace_s = 5', LIVE),
    set('vms', 'grace_s = NULL', `NOT ${LIVE}`.replace('NOT deleted_at IS NULL', 'deleted_at IS NOT NULL')),
    set('vms', 'grace_s = -1', 'deleted_at IS NOT NULL'),
    set('vms', "deleted_at = 'now'", LIVE),
    insert('vms', { ...NEW_VM, deleted_at: 'now' }),
  ],
  'only a deleted VM is removed, or all with their host': [`DELETE FROM vms WHERE ${LIVE}`],
  'a VM is wanted running or stopped': [
    set('vms', "power_state = 'paused'"),
    insert('vms', { ...NEW_VM, power_state: '' }),
  ],
  'the last state of a VM is ready or failed': [set('vms', "status = 'creating'")],
  'an image is a disk or a kernel': [set('vms', "image_kind = ''"), set('images', "kind = 'iso'")],
  'a disk is qcow2 or raw': [set('vms', "image_format = 'vmdk'"), set('images', "format = 'vmdk'")],
  'a clock has one of the known policies': [set('vms', "clock_policy = ''")],
  'flags of a VM are 0 or 1': ['force_stop', 'autostart', 'protected', 'host_cert_required'].map((f) =>
    set('vms', `${f} = 2`),
  ),
  'restarts are counted from 0': [set('vms', 'restart_count = -1')],
  'labels, keys and authorities of a VM are JSON': ['labels', 'ssh_authorized_keys', 'trusted_cas', 'injected_key'].map(
    (c) => set('vms', `${c} = '['`),
  ),
  'a port is published for a VM that is there, on its host': [
    insert('exposures', { id: 'x', host_id: 'y', host_port: '81' }),
    (db) => insert('exposures', { id: 'x', host_port: '81', vm_id: deletedId(db) })(db),
  ],
  'a published port is not changed, only taken back': [set('exposures', 'host_port = 81')],
  'an image that VMs need stays': ['DELETE FROM images'],
  'an image is for a known architecture': [set('images', "arch = 'riscv'")],
  'an image is the default or is not': [set('images', 'is_default = 2')],
  'a task has one of the known states': [set('tasks', "state = 'lost', ended_at = ''", "id = 't'")],
  'a task that ended has an end, and no other has one': [
    set('tasks', "state = 'done'", "id = 't'"),
    set('tasks', "ended_at = ''", "id = 't'"),
  ],
  'a task that ended stays as it ended': [
    set('tasks', "state = 'running', ended_at = NULL", "id = 'u'"),
    set('tasks', "state = 'failed'", "id = 'u'"),
  ],
  'steps and fault of a task are JSON': [
    set('tasks', "steps = ''", "id = 't'"),
    set('tasks', "fault = '{'", "id = 't'"),
  ],
  'the audit trail is append-only': [set('audit', "action = 'x'")],
  'details of an audit entry are JSON': [insert('audit', { id: '99', detail: '{' })],
  'principals of a certificate are JSON': [
    (db) => db.run(`INSERT INTO certificates VALUES ('1', 'default', 'a', 'user', 'k', '[', 'f', '', '', '', '')`),
  ],
  'the spec of a template is JSON': [template({ spec: '{' })],
  'vm is protected': [
    (db) => {
      db.run(set('vms', 'protected = 1', LIVE))
      db.run(set('vms', "deleted_at = 'now', grace_s = 1", LIVE))
    },
  ],
  'host not accepting new VMs': [
    (db) => {
      db.run(set('hosts', "status = 'decommissioning'"))
      insert('vms', NEW_VM)(db)
    },
  ],
  'over quota max_vms': [overQuota('max_vms = 1', NEW_VM)],
  'over quota max_vcpus': [overQuota('max_vcpus = 1', NEW_VM)],
  'over quota max_mem_mb': [overQuota('max_mem_mb = 512', NEW_VM)],
  'over quota max_disk_gb': [overQuota('max_disk_gb = 20', NEW_VM)],
}

function other() {
  return { id: 'd'.repeat(32), name: 'second', agent_identity: 'other' }
}
function deletedId(db: Database): string {
  return db.find<{ id: string }>('SELECT id FROM vms WHERE deleted_at IS NOT NULL')?.id ?? ''
}
function overQuota(quota: string, vm: Record<string, string>) {
  return (db: Database) => {
    db.run(set('tenants', quota, "name = 'default'"))
    insert('vms', vm)(db)
  }
}

describe('what holds whoever writes', () => {
  const cases = Object.entries(REFUSED).flatMap(([words, writes]) => writes.map((write, i) => ({ words, write, i })))

  it.each(cases)('$words ($i)', ({ words, write }) => {
    const { db } = aFleet()
    const before = db.list('SELECT * FROM hosts')
    const fault = faultOf(() =>
      db.transaction(() => {
        if (typeof write === 'string') db.run(write)
        else write(db)
      }),
    )
    expect(fault).toMatchObject({ code: 'store/conflict', params: { constraint: words } })
    expect(db.list('SELECT * FROM hosts')).toEqual(before)
  })

  it('is shown above for every refusal that the schema has', () => {
    const db = openDatabase(':memory:')
    const triggers = db.list<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
    const words = triggers.flatMap(({ sql }) => [...sql.matchAll(/RAISE\(ABORT, '([^']+)'\)/g)].map(([, w]) => w))
    expect([...new Set(words)].filter((w) => !(`${w}` in REFUSED))).toEqual([])
    db.close()
  })

  it('lets all VMs of a host leave with it, its ports too', () => {
    const { db, host, hosts } = aFleet()
    hosts.remove(host.id)
    expect([db.list('SELECT * FROM vms'), db.list('SELECT * FROM exposures')]).toEqual([[], []])
  })

  it('lets a deleted VM leave, and an image that nobody needs', () => {
    const { db, vms, host, deleted } = aFleet()
    expect(vms.reap(host.id, [deleted.id])).toEqual([deleted.id])
    db.run("UPDATE images SET sha256 = 'b'")
    expect(db.run('DELETE FROM images')).toBe(1)
  })
})

describe('the epoch of a host', () => {
  /** Another value for any column. */
  const changed: Record<string, string | number> = {
    image_kind: 'kernel',
    image_format: 'raw',
    power_state: 'stopped',
    status: 'failed',
    clock_policy: 'none',
    labels: '{"a":"b"}',
    ssh_authorized_keys: '["k"]',
    trusted_cas: '["k"]',
    injected_key: '{"fingerprint":"f","comment":"c"}',
    cloud_init: 'x',
  }
  const columns = openDatabase(':memory:').list<{ name: string; type: string }>(
    "SELECT name, type FROM pragma_table_info('vms') WHERE name NOT IN ('id', 'host_id', 'tenant', 'created_at', 'deleted_at', 'grace_s')",
  )

  it.each(columns)('rises with $name of a VM wherever its host is told of that', ({ name, type }) => {
    const { db, vms, exposures, hosts, host } = aFleet()
    const seen = () => ({
      digest: Buffer.from(digestOf(buildDesiredState(vms.listByHost(host.id), exposures.listByHost(host.id)))).toString(
        'hex',
      ),
      epoch: hosts.get(host.id).epoch,
    })
    const before = seen()
    const value = changed[name] ?? (type === 'INTEGER' ? undefined : 'other')
    const sql =
      value === undefined
        ? `CASE "${name}" WHEN 0 THEN 1 ELSE 0 END`
        : type === 'BLOB'
          ? 'CAST($value AS BLOB)'
          : '$value'
    const numbers = ['vcpus', 'mem_mb', 'disk_gb'].includes(name) ? `"${name}" + 1` : sql
    db.run(
      `UPDATE vms SET "${name}" = ${numbers} WHERE ${LIVE}`,
      value === undefined || numbers !== sql ? {} : { value },
    )
    const after = seen()
    if (after.digest !== before.digest) expect(after.epoch).toBeGreaterThan(before.epoch)
  })

  it('rises with a deletion, its grace and its end, and with a port that comes and goes', () => {
    const { db, vms, vm, hosts, host, exposures } = aFleet()
    let epoch = hosts.get(host.id).epoch
    const rises = (what: string, work: () => unknown) => {
      work()
      const now = hosts.get(host.id).epoch
      expect(now, what).toBeGreaterThan(epoch)
      epoch = now
    }
    rises('unpublished', () => db.run('DELETE FROM exposures'))
    rises('published', () =>
      exposures.create({ id: 'd'.repeat(32), vmId: vm.id, guestPort: 1, hostPort: 1, protocol: 'tcp', scope: 'lan' }),
    )
    rises('deleted', () => vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 }))
    rises('purged', () => vms.edit(vm.id, 'vm.purge', { graceS: 0 }))
    rises('brought back', () => vms.edit(vm.id, 'vm.undelete', { deletedAt: null, graceS: null }))
    rises('deleted again', () => vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 }))
    rises('gone', () => vms.reap(host.id, [vm.id]))
  })

  it('stays with what the host says, and with an edit that changes nothing', () => {
    const { vms, vm, hosts, host } = aFleet()
    const { epoch } = hosts.get(host.id)
    vms.setStatus(vm.id, host.id, { status: 'ready', lastError: '', lastReason: '', ip: '10.0.0.2' })
    vms.setHostPublicKey(vm.id, host.id, 'ssh-ed25519 AAAA')
    vms.edit(vm.id, 'vm.start', { powerState: 'running' })
    expect(hosts.get(host.id).epoch).toBe(epoch)
  })
})
