import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { copiesBeside, copyAt, KEPT_COPIES, setAside } from '../../../../../src/main/control/store/backup.ts'
import { openDatabase } from '../../../../../src/main/control/store/database-open.ts'
import { fillTables, schemaFile } from '../../../../support/schema-rows.ts'
import { aTempDir, START } from '../a-store.ts'

const DAY_MS = 86_400_000

describe('what is kept beside the database', () => {
  it('is kept for now, however old its file is beside what was kept before', () => {
    const file = join(aTempDir(), 'eitri.db')
    for (let n = 0; n < KEPT_COPIES; n++) {
      writeFileSync(file, `copy ${n}`)
      setAside(file, 'damaged', START + n)
      rmSync(file)
    }
    writeFileSync(file, 'put back by hand, with the times of long ago')
    utimesSync(file, 1, 1)
    const kept = setAside(file, 'damaged', START + DAY_MS)
    expect(readFileSync(kept, 'utf8')).toContain('put back by hand')
    expect(copiesBeside(file)).toHaveLength(KEPT_COPIES)
  })

  it('before a change of schema is kept, although a clock that was ahead made the others', () => {
    const dir = aTempDir()
    const file = join(dir, 'eitri.db')
    const handle = schemaFile(file, 4)
    fillTables(handle)
    handle.close()
    for (let n = 0; n < KEPT_COPIES; n++) {
      const path = `${file}.schema-3.2099010${n + 1}T000000Z.bak`
      writeFileSync(path, 'made by a clock that was ahead')
      utimesSync(path, new Date('2099-01-01'), new Date('2099-01-01'))
    }
    openDatabase(file, () => START).close()
    expect(existsSync(`${file}.schema-4.20260102T030405Z.bak`)).toBe(true)
  })

  it('leaves the log where it is while the file cannot be kept', () => {
    const dir = aTempDir()
    const file = join(dir, 'eitri.db')
    mkdirSync(file)
    writeFileSync(`${file}-wal`, 'what is committed')
    expect(() => setAside(file, 'replaced', START)).toThrow()
    expect(readdirSync(dir).sort()).toEqual(['eitri.db', 'eitri.db-wal'])
  })

  it('is no pipe: nobody waits for one to be written', () => {
    const path = join(aTempDir(), 'pipe')
    execFileSync('mkfifo', [path])
    expect(copyAt(path)).toBeUndefined()
  })
})
