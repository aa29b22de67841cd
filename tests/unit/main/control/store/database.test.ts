import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../../../../src/main/control/store/database-open.ts'
import { MIGRATIONS } from '../../../../../src/main/control/store/migrations.ts'
import { aHost, aStore, aTempDir, faultOf } from '../a-store.ts'

describe('database', () => {
  it('keeps what was written across a reopen, in WAL with full syncs and foreign keys', () => {
    const { db, file, hosts } = aStore()
    const host = hosts.create(aHost())
    const pragma = (name: string) => Object.values(db.find<Record<string, unknown>>(`PRAGMA ${name}`) ?? {})[0]
    expect([pragma('journal_mode'), pragma('synchronous'), pragma('foreign_keys')]).toEqual(['wal', 2, 1])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    db.close()
    expect(aStore(file).hosts.get(host.id).name).toBe(host.name)
  })

  it('refuses a file of a newer version in words that name both, and writes nothing', () => {
    const { db, file } = aStore()
    db.close()
    const raw = new DatabaseSync(file)
    raw.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`)
    raw.close()
    const seen = () => ({
      bytes: readFileSync(file),
      mtime: statSync(file, { bigint: true }).mtimeNs,
      names: readdirSync(dirname(file)).sort(),
    })
    const before = seen()
    expect(faultOf(() => openDatabase(file))).toMatchObject({
      code: 'store/newer',
      params: { schema: String(MIGRATIONS.length + 1), known: String(MIGRATIONS.length) },
    })
    expect(seen()).toEqual(before)
  })

  it('refuses a newer version too when only the log beside the file says so', () => {
    const { db, file } = aStore()
    const raw = new DatabaseSync(file)
    raw.exec(`PRAGMA wal_checkpoint(TRUNCATE); PRAGMA user_version = ${MIGRATIONS.length + 7}`)
    const before = { bytes: readFileSync(file), mtime: statSync(file, { bigint: true }).mtimeNs }
    expect(faultOf(() => openDatabase(file)).code).toBe('store/newer')
    expect({ bytes: readFileSync(file), mtime: statSync(file, { bigint: true }).mtimeNs }).toEqual(before)
    raw.close()
    db.close()
  })

  it('says that a file that cannot be had now is not to be had, and calls it neither damaged nor new', () => {
    expect(faultOf(() => openDatabase(aTempDir())).code).toBe('store/unavailable')
    if (process.getuid?.() === 0) return
    const { db, file } = aStore()
    db.close()
    chmodSync(file, 0)
    expect(faultOf(() => openDatabase(file)).code).toBe('store/unavailable')
  })

  it('rolls back the whole transaction and publishes none of it', () => {
    const { db, hosts, settings } = aStore()
    const published: unknown[] = []
    db.onCommit((changes) => published.push(...changes))
    faultOf(() =>
      db.transaction(() => {
        hosts.create(aHost())
        settings.set('a', 'b')
        throw new Error('no')
      }),
    )
    expect(hosts.listAll()).toEqual([])
    expect([settings.find('a'), db.list('SELECT * FROM audit'), published]).toEqual([undefined, [], []])
  })

  it('publishes each changed row once per commit, however often it was touched', () => {
    const { db } = aStore()
    const published: unknown[][] = []
    db.onCommit((changes) => published.push([...changes]))
    db.transaction(() => {
      db.changed('vm', 'a')
      db.transaction(() => db.changed('vm', 'a'))
      db.changed('host', 'a')
    })
    expect(published).toEqual([
      [
        { noun: 'vm', id: 'a' },
        { noun: 'host', id: 'a' },
      ],
    ])
  })

  it('counts the rows it wrote, those of triggers too, and no reads', () => {
    const { db, hosts, settings } = aStore()
    expect(db.writes).toBeGreaterThanOrEqual(0)
    const before = db.writes
    hosts.listAll()
    settings.find('a')
    db.transaction(() => {})
    expect(db.writes).toBe(before)
    settings.set('a', 'b')
    settings.set('a', 'c')
    expect(db.writes).toBe(before + 2)
  })
})
