import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as files from '../../../../src/agent/os/files.ts'
import { fileDesired } from '../../../../src/agent/records/desired-state.ts'
import { SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'

const ID = 'a'.repeat(32)
const snapshot = create(SnapshotSchema, { epoch: 7n, state: { vms: [{ vmId: ID, restartCount: 2n ** 63n }] } })
const desired = { snapshot, deletedIn: new Map([[ID, 2n ** 63n]]) }
let dir: string
let path: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-desired-'))
  path = join(dir, 'desired.bin')
})
afterEach(() => rm(dir, { recursive: true, force: true }))

describe('the last accepted snapshot', () => {
  it('comes back as it was saved, 64-bit numbers included; before the first there is none', async () => {
    const store = fileDesired(path)
    expect(await store.load()).toEqual({ kind: 'none' })
    await store.save(desired)
    expect(await store.load()).toEqual({ kind: 'desired', desired })
    expect(await readdir(dir)).toEqual(['desired.bin'])
  })

  it('of an older agent, bytes alone, is read', async () => {
    await writeFile(path, toBinary(SnapshotSchema, snapshot))
    expect(await fileDesired(path).load()).toEqual({ kind: 'desired', desired: { snapshot, deletedIn: new Map() } })
  })

  it('of a newer agent is refused with both numbers, and kept beside what comes next', async () => {
    const newer = Buffer.from('eitri-desired 2 0000\nwhatever')
    await writeFile(path, newer)
    const store = fileDesired(path)
    const problem = 'it is of version 2, this agent knows version 1'
    expect(await store.load()).toEqual({ kind: 'unreadable', problem })
    expect(await readFile(path)).toEqual(newer)
    await store.save(desired)
    expect(await store.load()).toEqual({ kind: 'desired', desired })
    expect(await readFile(`${path}.unreadable`)).toEqual(newer)
  })

  it('torn at any byte, or with any byte changed, is refused, never half believed', async () => {
    const store = fileDesired(path)
    await store.save(desired)
    const whole = await readFile(path)
    for (let i = 0; i < whole.length; i++) {
      await writeFile(path, whole.subarray(0, i))
      expect(await store.load(), `cut at ${i}`).toMatchObject({ kind: 'unreadable' })
      const bent = Buffer.from(whole)
      bent[i]! ^= 1
      await writeFile(path, bent)
      expect(await store.load(), `changed at ${i}`).toMatchObject({ kind: 'unreadable' })
    }
  })

  it('names the numbers when there is no room for it, and keeps the one before', async () => {
    await fileDesired(path).save(desired)
    const full = async () => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    }
    const diskSpace = async () => ({ free: 3 * 1024, total: 9_000_000, freeFiles: 9 })
    const store = fileDesired(path, { ...files, writeDurable: full, diskSpace })
    await expect(store.save(desired)).rejects.toMatchObject({
      code: 'host/disk-full',
      params: { where: dir, free: '3 KiB' },
    })
    expect(await store.load()).toMatchObject({ kind: 'desired' })
  })

  it('in a file that cannot be read at all is refused in words', async () => {
    expect(await fileDesired(dir).load()).toMatchObject({
      kind: 'unreadable',
      problem: expect.stringContaining('it is a directory'),
    })
  })
})
