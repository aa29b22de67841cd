import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { copiesBeside, KEPT_COPIES } from '../../../../../src/main/control/store/backup.ts'
import { openDatabase } from '../../../../../src/main/control/store/database-open.ts'
import { MIGRATIONS } from '../../../../../src/main/control/store/migrations.ts'
import { migrate, schemaOf } from '../../../../../src/main/control/store/migrations-run.ts'
import { openStores } from '../../../../../src/main/control/store/stores.ts'
import { allColumns, allRows, fillTables, schemaFile } from '../../../../support/schema-rows.ts'
import { aTempDir, faultOf, START } from '../a-store.ts'

/** What releases have made; a file of theirs must open for good. */
const RELEASED = ['e58d35ca670bf7cd', '74c97d72df068bab', 'eeef62e0b05822c0', '083cafceebb963d7']
const NEWEST = MIGRATIONS.length
const older = Array.from({ length: NEWEST - 1 }, (_, i) => i + 1)
const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** A filled file of an older schema, closed. */
function fileOf(schema: number, dir = aTempDir()) {
  const file = join(dir, 'eitri.db')
  const handle = schemaFile(file, schema)
  fillTables(handle)
  const rows = allRows(handle)
  const columns = allColumns(handle)
  handle.close()
  return { file, dir, rows, columns }
}

function looked<T>(file: string, look: (handle: DatabaseSync) => T): T {
  const handle = new DatabaseSync(file, { readOnly: true })
  try {
    return look(handle)
  } finally {
    handle.close()
  }
}

describe('a change of schema', () => {
  it.each(older)('from schema %i keeps every row of every table, and the store works with them', (schema) => {
    const { file, rows, columns } = fileOf(schema)
    const stores = openStores(file, { now: () => START })
    const hosts = stores.hosts.listAll()
    const vms = stores.vms.listAll()
    expect([hosts.length, vms.length, stores.tasks.list('default').length]).toEqual([2, 2, 2])
    expect(vms.find((vm) => vm.deletedAt)?.graceS).toBe(900)
    stores.vms.edit(vms.find((vm) => !vm.deletedAt)?.id ?? '', 'vm.start', { powerState: 'running' })
    stores.db.close()
    const after = looked(file, (handle) => {
      expect(schemaOf(handle)).toBe(NEWEST)
      expect(handle.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      expect(handle.prepare('PRAGMA foreign_key_check').all()).toEqual([])
      return allRows(handle, columns)
    })
    const [edited] = after['vms'] as { power_state: string; id: string }[]
    Object.assign(edited ?? {}, { power_state: 'stopped' })
    const [host] = after['hosts'] as { epoch: number }[]
    Object.assign(host ?? {}, { epoch: (rows['hosts'] as { epoch: number }[])[0]?.epoch })
    expect(after['audit']?.slice(0, 2)).toEqual(rows['audit'])
    expect({ ...after, audit: [] }).toEqual({ ...rows, audit: [] })
  })

  it.each(older)('from schema %i copies the file first, as it was, for its owner alone', (schema) => {
    const { file, rows } = fileOf(schema)
    openDatabase(file, () => START).close()
    const [copy, ...others] = copiesBeside(file)
    expect(others).toEqual([])
    expect(copy).toMatchObject({ path: `${file}.schema-${schema}.20260102T030405Z.bak`, schema })
    expect(statSync(copy?.path ?? '').mode & 0o777).toBe(0o600)
    expect(looked(copy?.path ?? '', (handle) => allRows(handle))).toEqual(rows)
  })

  it('makes no copy of a file that is new, and none when nothing changes', () => {
    const file = join(aTempDir(), 'eitri.db')
    openDatabase(file).close()
    openDatabase(file).close()
    expect(copiesBeside(file)).toEqual([])
  })

  it(`keeps the newest ${KEPT_COPIES} copies`, () => {
    const { file, dir } = fileOf(4)
    copyFileSync(file, join(dir, 'old'))
    for (let day = 0; day < KEPT_COPIES + 2; day++) {
      copyFileSync(join(dir, 'old'), file)
      openDatabase(file, () => START + day * 86_400_000).close()
    }
    const kept = copiesBeside(file).map(({ path }) => path)
    expect(kept).toHaveLength(KEPT_COPIES)
    expect(kept).not.toContain(`${file}.schema-4.20260102T030405Z.bak`)
    expect(kept).toContain(`${file}.schema-4.20260108T030405Z.bak`)
  })

  it.each(older)('from schema %i that fails at its last step leaves the file to the version before', (schema) => {
    const { file, rows } = fileOf(schema)
    const handle = new DatabaseSync(file)
    const migrations = [...MIGRATIONS, 'CREATE TABLE more (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);']
    expect(faultOf(() => migrate(handle, { file, now: () => START, migrations }))).toMatchObject({
      code: 'store/not-migrated',
      params: { from: String(schema), to: String(NEWEST + 1), detail: expect.stringContaining('nowhere') },
    })
    expect(schemaOf(handle)).toBe(schema)
    expect(allRows(handle)).toEqual(rows)
    handle.close()
    const fine = openDatabase(file, () => START)
    expect(fine.damage).toBeUndefined()
    fine.close()
  })

  it('is not begun while the copy cannot be made', () => {
    const { file, rows } = fileOf(4)
    const handle = new DatabaseSync(file)
    const nowhere = join(aTempDir(), 'gone', 'eitri.db')
    const fault = faultOf(() => migrate(handle, { file: nowhere, now: () => START }))
    expect(fault.code).toBe('store/not-migrated')
    expect([schemaOf(handle), allRows(handle)]).toEqual([4, rows])
    handle.close()
  })

  it('of a released version is never edited, only followed by another', () => {
    expect(MIGRATIONS.slice(0, RELEASED.length).map(digest)).toEqual(RELEASED)
  })

  it('leaves a file of the newest schema byte for byte alone when it is only opened and closed', () => {
    const { file } = fileOf(NEWEST)
    const before = readFileSync(file)
    openDatabase(file).close()
    expect(readFileSync(file).equals(before)).toBe(true)
  })
})
