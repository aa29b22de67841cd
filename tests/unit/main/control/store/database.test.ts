import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { Database } from '../../../../../src/main/control/store/database.ts'
import { MIGRATIONS } from '../../../../../src/main/control/store/migrations.ts'
import { aHost, aStore, faultOf } from '../a-store.ts'

describe('database', () => {
  it('keeps what was written across a reopen, in WAL with full syncs and foreign keys', () => {
    const { db, file, hosts } = aStore()
    const host = hosts.create(aHost())
    const pragma = (name: string) => Object.values(db.find<Record<string, unknown>>(`PRAGMA ${name}`) ?? {})[0]
    expect([pragma('journal_mode'), pragma('synchronous'), pragma('foreign_keys')]).toEqual(['wal', 2, 1])
    db.close()
    expect(aStore(file).hosts.get(host.id).name).toBe(host.name)
  })

  it('refuses a file of a newer version in words, untouched', () => {
    const { db, file } = aStore()
    db.close()
    const raw = new DatabaseSync(file)
    raw.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`)
    raw.close()
    const fault = faultOf(() => new Database(file))
    expect(fault.code).toBe('store/unavailable')
    expect(fault.params['detail']).toContain('newer version')
  })

  it('says in words that a file is no database', () => {
    expect(faultOf(() => new Database('/proc/version')).code).toBe('store/unavailable')
  })

  it('rolls back the whole transaction and publishes none of it', () => {
    const { db, hosts, settings, audit } = aStore()
    const published: unknown[] = []
    db.onCommit((changes) => published.push(...changes))
    faultOf(() =>
      db.transaction(() => {
        hosts.create(aHost())
        settings.set('a', 'b')
        throw new Error('no')
      }),
    )
    expect([hosts.listAll(), settings.find('a'), audit.list({ limit: 1 }), published]).toEqual([[], undefined, [], []])
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
})
