import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readIfPresent, writeDurable } from '../../../../src/agent/os/files.ts'
import { RevokedFile } from '../../../../src/agent/records/revoked-file.ts'
import { revokedList } from '../../../../src/agent/seed/ssh-trust.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

describe("the list of revoked certificates for the host's own sshd", () => {
  let dir: string
  let path: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'eitri-revoked-'))
    path = join(dir, 'revoked-certificates.krl')
  })
  afterEach(() => rmSync(dir, { recursive: true }))
  const list = revokedList(Buffer.from('SSHKRL'))

  it('is there before anything is revoked, and again when somebody removed or changed it', async () => {
    const file = new RevokedFile(path, silentLog)
    await file.keep(revokedList(new Uint8Array()))
    expect(readFileSync(path, 'utf8')).toBe('')
    expect(statSync(path).mode & 0o777).toBe(0o644)
    await file.keep(list)
    const { ino } = statSync(path)
    await file.keep(list)
    expect(statSync(path).ino).toBe(ino)
    writeFileSync(path, 'nonsense')
    await file.keep(list)
    rmSync(path)
    await file.keep(list)
    expect(readFileSync(path, 'utf8')).toBe('SSHKRL')
    expect(file.notices()).toEqual([])
  })

  it('that cannot be written is said, and written at the next try', async () => {
    let full = true
    const write: typeof writeDurable = async (...given) => {
      if (full) throw new Error('no space left')
      await writeDurable('revoked.save', ...(given.slice(1) as [string, Uint8Array, number]))
    }
    const file = new RevokedFile(path, silentLog, { readIfPresent, writeDurable: write })
    await file.keep(list)
    expect(file.notices()).toEqual([expect.stringMatching(/own sshd \(.*krl\) is not the newest: .*no space left/)])
    full = false
    await file.keep(list)
    expect([file.notices(), readFileSync(path, 'utf8')]).toEqual([[], 'SSHKRL'])
  })
})
