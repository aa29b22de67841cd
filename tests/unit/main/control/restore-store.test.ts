import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { restoreStore } from '../../../../src/main/control/restore-store.ts'
import { MIGRATIONS } from '../../../../src/main/control/store/migrations.ts'
import { bytesOf } from '../../../support/damage.ts'
import { fillTables, schemaFile } from '../../../support/schema-rows.ts'
import { aHost, aStore, aTempDir, aVm, faultOf, START } from './a-store.ts'

/** A closed store in use, and a copy of another that `change` was done to. */
function aRestore(change: (handle: DatabaseSync, path: string) => void, schema = MIGRATIONS.length) {
  const dir = aTempDir()
  const used = aStore(join(dir, 'eitri.db'))
  used.vms.create(aVm(used.hosts.create(aHost()).id, { name: 'web' }))
  used.db.close()
  const from = join(aTempDir(), 'copy')
  const handle = schemaFile(from, schema)
  fillTables(handle)
  change(handle, from)
  handle.close()
  return { dir, from, paths: { database: used.file, caKeys: join(dir, 'cas') } }
}

/** A part made anew by other words, and what hangs on it. */
const remade = (name: string, from: string, to: string) => (handle: DatabaseSync) => {
  const parts = handle
    .prepare(
      "SELECT type, sql FROM sqlite_schema WHERE (name = $name OR tbl_name = $name) AND sql <> '' ORDER BY rowid",
    )
    .all({ name })
  const [{ type, sql } = {}, ...others] = parts
  expect(String(sql)).toContain(from)
  handle.exec(`DROP ${type} ${name}; ${String(sql).replace(from, to)}`)
  for (const other of others) handle.exec(String(other['sql']))
}
const ENDLESS =
  'DROP TABLE sent_snapshots; CREATE VIEW sent_snapshots AS WITH RECURSIVE r(host_id, epoch, digest) AS (SELECT 1, 1, 1 UNION ALL SELECT host_id + 1, 1, 1 FROM r) SELECT * FROM r;'

describe('a copy that somebody made for harm', () => {
  it.each<[string, (handle: DatabaseSync) => void]>([
    ['a trigger of its own', (h) => h.exec('CREATE TRIGGER mine AFTER INSERT ON audit BEGIN DELETE FROM vms; END')],
    ['a trigger less', (h) => h.exec('DROP TRIGGER audit_append_only')],
    ['a trigger that does something else', remade('audit_kept', 'OLD.at >=', 'OLD.at <')],
    ['an index less', (h) => h.exec('DROP INDEX vms_live_name')],
    ['a table of its own', (h) => h.exec('CREATE TABLE mine (a)')],
    ['a view without end in place of a table', (h) => h.exec(ENDLESS)],
    ['a table without its bounds', remade('exposures', 'CHECK (guest_port BETWEEN 1 AND 65535)', '')],
  ])('and that has %s is refused, and all is as it was', (_, change) => {
    const { dir, from, paths } = aRestore(change)
    const before = [bytesOf(paths.database), readdirSync(dir)]
    expect(faultOf(() => restoreStore(from, paths, START))).toMatchObject({
      code: 'store/not-restored',
      params: { detail: expect.stringContaining('not as this program makes it') },
    })
    expect([bytesOf(paths.database), readdirSync(dir)]).toEqual(before)
  })

  it('and whose older rows cannot be meant is refused, and all is as it was', () => {
    const { dir, from, paths } = aRestore((h) => h.exec("UPDATE vms SET power_state = 'rotten'"), 4)
    const before = [bytesOf(paths.database), readdirSync(dir)]
    expect(faultOf(() => restoreStore(from, paths, START)).code).toBe('store/not-restored')
    expect([bytesOf(paths.database), readdirSync(dir)]).toEqual(before)
  })

  it.each<[string, (path: string) => void]>([
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a folder', (path) => mkdirSync(path)],
    ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
    ['a link to itself', (path) => symlinkSync(path, path)],
  ])('and is %s is refused at once', (_, make) => {
    const { paths } = aRestore(() => {})
    const from = join(aTempDir(), 'odd')
    make(from)
    expect(faultOf(() => restoreStore(from, paths, START)).code).toBe('store/not-restored')
  })

  it.each(MIGRATIONS.map((_, n) => n + 1))('but one of schema %i that is whole is put back', (schema) => {
    const { from, paths } = aRestore(() => {}, schema)
    expect(restoreStore(from, paths, START)).toMatchObject({ schema, hosts: 2, vms: 2 })
  })
})
