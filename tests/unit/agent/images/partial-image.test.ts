import { createHash } from 'node:crypto'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PartialImage } from '../../../../src/agent/images/partial-image.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'partial-image-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(dir, { recursive: true, force: true })
})

/** From now on the disk takes `bytes` more of each chunk, then is full. */
async function fillDisk(bytes: number) {
  const probe = await open(join(dir, 'probe'), 'w')
  const prototype = Object.getPrototypeOf(probe) as typeof probe
  await probe.close()
  const { write } = prototype
  let room = bytes
  return vi.spyOn(prototype, 'write').mockImplementation(async function (this: typeof probe, chunk: Uint8Array) {
    if (room === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    const part = chunk.subarray(0, room)
    room -= part.length
    return (await (write as (bytes: Uint8Array) => Promise<unknown>).call(this, part)) as never
  } as never)
}

describe('an unfinished image', () => {
  it('holds only whole chunks after the disk was full, so that a resume gives the right bytes', async () => {
    const signal = new AbortController().signal
    const path = join(dir, 'image.part')
    const first = await PartialImage.open(path, signal)
    await first.append(Buffer.from('first '))
    const full = await fillDisk(3)
    await expect(first.append(Buffer.from('second'))).rejects.toMatchObject({ code: 'ENOSPC' })
    full.mockRestore()
    await first.close()

    const resumed = await PartialImage.open(path, signal)
    expect(resumed.size).toBe('first '.length)
    await resumed.append(Buffer.from('second'))
    const whole = join(dir, 'whole')
    await resumed.publish(createHash('sha256').update('first second').digest('hex'), whole)
    expect(await readFile(whole, 'utf8')).toBe('first second')
  })
})
