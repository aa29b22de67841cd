import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDisk } from '../../../../../src/agent/backends/qemu/qemu-disk.ts'
import type { DiskImage } from '../../../../../src/agent/images/image-cache.ts'
import type { Run, RunResult } from '../../../../../src/agent/os/exec.ts'
import { GiB } from '../../../../../src/ipc/units.ts'

const image: DiskImage = { kind: 'disk', file: '/images/x', format: 'qcow2', virtualBytes: 2 * GiB }
const ended = (change: Partial<RunResult>): RunResult => ({
  code: 0,
  stdout: '',
  stderr: '',
  timedOut: false,
  ...change,
})

describe('the first disk of a VM', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-disk-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const make = (run: Run, diskGb = 2) =>
    createDisk(run, image, join(dir, 'disk.qcow2'), diskGb, AbortSignal.timeout(5_000))

  it('is never smaller than its image', async () => {
    const run: Run = async () => Promise.reject(new Error('not to be run'))
    await expect(make(run, 1)).rejects.toMatchObject({
      code: 'image/too-big-for-disk',
      disposition: 'permanent',
      params: { needed: '2.0 GiB', disk: '1 GiB' },
    })
  })

  it('that the disk has no room for is refused with the numbers, and leaves nothing', async () => {
    const run: Run = async (_point, _program, args) => {
      await writeFile(args.at(-2)!, 'half')
      return ended({ code: 1, stderr: 'qemu-img: x: Could not write: No space left on device\n' })
    }
    await expect(make(run)).rejects.toMatchObject({
      code: 'host/disk-full',
      params: { where: dir, free: expect.stringMatching(/^[\d.]+ [KMGT]iB$/), needed: '4 MiB', reserve: '256 MiB' },
    })
    expect(await readdir(dir)).toEqual([])
  })

  it('names the format of what it is made on, so that nobody guesses', async () => {
    let asked: readonly string[] = []
    const run: Run = async (_point, _program, args) => {
      asked = args
      await writeFile(args.at(-2)!, 'disk')
      return ended({})
    }
    await make(run)
    expect(asked.join(' ')).toContain('-f qcow2 -b /images/x -F qcow2')
    expect(await readdir(dir)).toEqual(['disk.qcow2'])
  })
})
