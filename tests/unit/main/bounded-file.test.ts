import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readBounded } from '../../../src/main/bounded-file.ts'
import { loadKeyFile } from '../../../src/main/control/hosts/ssh/key-file.ts'
import { readKnownHosts } from '../../../src/main/control/hosts/ssh/known-hosts.ts'

describe('files people name', () => {
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'bounded-'))
  })
  afterAll(() => rm(dir, { recursive: true }))

  it('are read whole up to the bound and refused past it', async () => {
    const file = join(dir, 'file')
    await writeFile(file, '12345')
    expect((await readBounded(file, 5)).toString()).toBe('12345')
    await expect(readBounded(file, 4)).rejects.toThrow('larger than 4 bytes')
  })

  it('are never a device without an end', async () => {
    await expect(readBounded('/dev/zero', 100_000)).rejects.toThrow('larger than 100000 bytes')
    expect(await loadKeyFile('/dev/zero')).toMatchObject({ kind: 'unreadable', detail: 'larger than 65536 bytes' })
    await expect(readKnownHosts(['/dev/zero'], 'rack')).rejects.toMatchObject({ code: 'ssh/config-invalid' })
    expect(await readKnownHosts(['/dev/null'], 'rack')).toEqual([])
  })

  it('hold nothing up as a pipe nobody writes to', async () => {
    const pipe = join(dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(await loadKeyFile(pipe)).toMatchObject({ kind: 'unreadable' })
  })
})
