import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { linuxProcesses, type Processes, takeDataLock } from '../../../../src/main/serving/data-lock.ts'

let dir: string
let file: string
const living = new Map<number, string>()

const as = (pid: number): Processes => ({ pid, startOf: async (other) => living.get(other) })
const take = (pid: number) => takeDataLock(file, dir, as(pid))

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-lock-'))
  file = join(dir, 'lock')
  living.clear()
  living.set(10, 'a').set(11, 'b').set(12, 'c')
})
afterEach(() => rm(dir, { recursive: true, force: true }))

describe('the lock on a data folder', () => {
  it('is held by one, and names the holder to the next', async () => {
    await take(10)
    await expect(take(11)).rejects.toMatchObject({ code: 'app/already-running', params: { data_dir: dir, pid: '10' } })
    expect(await readdir(dir)).toEqual(['lock'])
  })

  it('is free again once it is let go', async () => {
    await (await take(10)).release()
    expect(await readdir(dir)).toEqual([])
    await take(11)
  })

  it('is taken from a holder that is dead', async () => {
    await take(10)
    living.delete(10)
    await take(11)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ pid: 11, start: 'b' })
  })

  it('is taken from a holder whose pid another process has now', async () => {
    await take(10)
    living.set(10, 'started later')
    await take(11)
  })

  it('is taken when what is there cannot be read', async () => {
    await writeFile(file, 'half a')
    await take(11)
  })

  it('says of a folder that cannot be written that it is the folder', async () => {
    await writeFile(file, '')
    await expect(takeDataLock(join(file, 'deep', 'lock'), dir, as(10))).rejects.toMatchObject({
      code: 'store/unavailable',
      params: { detail: expect.stringContaining('ENOTDIR') },
    })
  })

  it('is not let go by one that lost it', async () => {
    const old = await take(10)
    living.delete(10)
    await take(11)
    await old.release()
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: 11 })
  })

  it('goes to exactly one of many that find a dead holder', async () => {
    await take(10)
    living.delete(10)
    const pids = Array.from({ length: 20 }, (_, i) => 100 + i)
    for (const pid of pids) living.set(pid, `s${pid}`)
    const outcomes = await Promise.allSettled(pids.map(take))
    expect(outcomes.filter((o) => o.status === 'fulfilled')).toHaveLength(1)
    expect(await readdir(dir)).toEqual(['lock'])
  })

  it('knows a real process by its start, and that it is gone', async () => {
    const child = spawn('sleep', ['60'])
    await once(child, 'spawn')
    const start = await linuxProcesses.startOf(child.pid!)
    expect(start).toMatch(/^[0-9a-f-]{36} \d+$/)
    expect(await linuxProcesses.startOf(child.pid!)).toBe(start)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await linuxProcesses.startOf(child.pid!)).toBeUndefined()
  })
})
