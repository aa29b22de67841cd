import { copyFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { lookAtStore } from '../../../../../src/main/control/store/integrity.ts'
import { MIGRATIONS } from '../../../../../src/main/control/store/migrations.ts'
import { openStores, type Stores } from '../../../../../src/main/control/store/stores.ts'
import { bytesOf, DAMAGES, overwrite, PAGE } from '../../../../support/damage.ts'
import { aHost, aStore, aTempDir, aVm, faultOf, START } from '../a-store.ts'

const VMS = 60

/** A closed store of 3 hosts with 60 VMs between them, and its fleet. */
function aFile() {
  const { db, file, hosts, vms, settings } = aStore()
  const made = [1, 2, 3].map((n) => hosts.create(aHost({ name: `rack-${n}` })))
  for (let n = 0; n < VMS; n++)
    vms.create(aVm(made[n % 3]?.id ?? '', { name: `vm-${n}`, cloudInit: Buffer.alloc(500, n) }))
  const fleet = settings.fleetId()
  db.close()
  return { file, fleet }
}

function opened<T>(file: string, look: (stores: Stores) => T): T {
  const stores = openStores(file, { now: () => START })
  try {
    return look(stores)
  } finally {
    stores.db.close()
  }
}

/** Rows found by their bytes and changed without a word to SQLite. */
function rotted(file: string, from: string, to: string): void {
  const raw = new DatabaseSync(file)
  raw.exec('PRAGMA ignore_check_constraints = ON')
  for (const { name } of raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    raw.exec(`DROP TRIGGER ${name}`)
  raw.exec(`UPDATE vms SET ${to} WHERE rowid = (SELECT min(rowid) FROM vms WHERE ${from})`)
  raw.close()
}

describe('a damaged database', () => {
  it.each(Object.keys(DAMAGES))('with %s opens for reading, says so, and stays as it is', (name) => {
    const { file, fleet } = aFile()
    DAMAGES[name]?.(file)
    const before = [bytesOf(file), readdirSync(dirname(file))]
    opened(file, ({ db, hosts, vms, settings, audit }) => {
      expect(db.damage?.reason).toMatch(/./)
      expect(settings.fleetId()).toBe(fleet)
      const rows = vms.listAll()
      expect(rows.length).toBeLessThanOrEqual(VMS)
      for (const vm of rows) expect(hosts.get(vm.hostId).name).toMatch(/^rack-/)
      audit.list({ limit: 10 })
    })
    expect([bytesOf(file), readdirSync(dirname(file))]).toEqual(before)
  })

  it('gives back what its whole pages hold', () => {
    const counted = (name: string) => {
      const { file } = aFile()
      DAMAGES[name]?.(file)
      return opened(file, ({ hosts, vms }) => [hosts.listAll().length, vms.listAll().length])
    }
    expect(counted('an overwritten header')).toEqual([3, VMS])
    expect(counted('a page of garbage in the middle')[1]).toBeGreaterThan(VMS / 2)
    expect(counted('an overwritten first page')).toEqual([0, 0])
    expect(counted('no file at all')).toEqual([0, 0])
  })

  it.each([
    ["power_state = 'rUnning'", 'wanted running or stopped'],
    ['labels = \'{"a"\'', 'JSON'],
    ["clock_policy = 'aut0'", 'policies'],
  ])('is noticed by a value that no version writes: %s', (change, words) => {
    const { file } = aFile()
    rotted(file, 'true', change)
    opened(file, ({ db, vms }) => {
      expect(db.damage?.reason).toContain(words)
      expect(vms.listAll()).toHaveLength(VMS - 1)
    })
  })

  it('is noticed by an index that tells another story than its table', () => {
    const { file } = aFile()
    const raw = new DatabaseSync(file)
    raw.enableDefensive(false)
    raw.exec(
      `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'vms(tenant, name)', 'vms(tenant, id)') WHERE name = 'vms_live_name'`,
    )
    raw.close()
    opened(file, ({ db, vms }) => {
      expect(db.damage?.reason).toContain('index')
      expect(vms.listAll()).toHaveLength(VMS)
    })
  })

  it('of another program is no store of ours, whatever its tables are', () => {
    for (const sql of ['CREATE TABLE bookmarks (url)', 'PRAGMA user_version = 3; CREATE TABLE hosts (id)']) {
      const file = join(aTempDir(), 'eitri.db')
      const raw = new DatabaseSync(file)
      raw.exec(sql)
      raw.close()
      opened(file, ({ db, hosts }) => {
        expect(db.damage?.reason).toMatch(/another program|lacks/)
        expect(hosts.listAll()).toEqual([])
      })
    }
  })

  it('whose log is gone is the store of a while ago, and no damage can be seen', () => {
    const { db, file, hosts } = aStore()
    hosts.create(aHost({ name: 'before' }))
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    hosts.create(aHost({ name: 'after' }))
    const copy = join(aTempDir(), 'eitri.db')
    copyFileSync(file, copy)
    db.close()
    opened(copy, ({ db: older, hosts: rows }) => {
      expect(older.damage).toBeUndefined()
      expect(rows.listAll().map(({ name }) => name)).toEqual(['before'])
    })
  })

  it('that proves damaged while it is open goes on from memory, and refuses what was under way', () => {
    const { file } = aFile()
    const stores = openStores(file, { now: () => START })
    const [host] = stores.hosts.listAll()
    let replaced = 0
    stores.db.onReplaced(() => replaced++)
    DAMAGES['every third page flipped']?.(file)
    const fault = faultOf(() => {
      for (let n = 0; n < 5_000; n++) stores.vms.listAll()
      for (let n = 0; n < 200; n++) stores.vms.create(aVm(host?.id ?? '', { cloudInit: Buffer.alloc(9_000) }))
    })
    expect(fault.code).toBe('store/read-only')
    expect(stores.db.damage?.reason).not.toBe('')
    expect(replaced).toBe(1)
    expect(stores.vms.listAll().length).toBeGreaterThanOrEqual(0)
    stores.db.close()
  })

  it('is looked for in the whole file up to a bound, and past it in all but the trail', () => {
    const { file } = aFile()
    const raw = new DatabaseSync(file)
    const { rootpage } = raw.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'audit'").get() as {
      rootpage: number
    }
    raw.close()
    overwrite(file, (rootpage - 1) * PAGE, Buffer.alloc(PAGE, 0x5a))
    expect(lookAtStore(file).kind).toBe('damaged')
    expect(lookAtStore(file, { wholeBytes: 0 })).toEqual({ kind: 'sound', schema: MIGRATIONS.length })
    opened(file, ({ db, vms }) =>
      expect([vms.listAll().length, db.damage?.lost.join()]).toEqual([VMS, expect.stringContaining('audit')]),
    )
  })
})
