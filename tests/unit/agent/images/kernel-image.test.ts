import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackKernelImage } from '../../../../src/agent/images/kernel-image.ts'

const live = () => AbortSignal.timeout(10_000)

function entry(name: string, content: Buffer | string, type = '0'): Buffer {
  const body = Buffer.from(content as string)
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('        ', 148)
  header.write(type, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}
const tar = (...entries: Buffer[]) => Buffer.concat([...entries, Buffer.alloc(1024)])
const good = () => tar(entry('vmlinux', 'K'.repeat(700)), entry('initrd', 'I'), entry('cmdline', 'console=ttyS0\n'))

describe('a kernel image', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-kernel-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const unpack = async (bytes: Buffer) => {
    await writeFile(join(dir, 'image'), bytes)
    return await unpackKernelImage(join(dir, 'image'), join(dir, 'image.kernel'), live())
  }

  it('is unpacked once beside the cached file', async () => {
    const image = await unpack(good())
    expect(await readFile(image.kernel, 'utf8')).toBe('K'.repeat(700))
    expect(await readFile(image.initrd, 'utf8')).toBe('I')
    expect(image.cmdline).toBe('console=ttyS0')
    await writeFile(join(dir, 'image'), 'gone')
    expect(await unpackKernelImage(join(dir, 'image'), join(dir, 'image.kernel'), live())).toEqual(image)
  })

  it('may name its kernel vmlinuz and its files with ./', async () => {
    const image = await unpack(tar(entry('./vmlinuz', 'Z'), entry('./initrd', 'I'), entry('./cmdline', 'quiet')))
    expect(await readFile(image.kernel, 'utf8')).toBe('Z')
  })

  it.each([
    ['a missing initrd', tar(entry('vmlinux', 'K'), entry('cmdline', 'c')), 'holds no initrd'],
    ['another file', tar(entry('vmlinux', 'K'), entry('initrd', 'I'), entry('x/../../etc/passwd', 'p')), 'no cmdline'],
    ['a fourth file', tar(...['vmlinux', 'initrd', 'cmdline', 'more'].map((n) => entry(n, n))), 'more than 3 files'],
    ['a link', tar(entry('vmlinux', '', '2')), 'entry of type'],
    ['a long name', tar(entry('vmlinux', 'K', 'L')), 'entry of type'],
    ['no tar', Buffer.alloc(2048, 'x'), 'not an uncompressed tar'],
    ['an empty file', Buffer.alloc(0), 'holds no vmlinux'],
    ['a cut file', good().subarray(0, 900), 'cut off'],
    [
      'a cmdline of two lines',
      tar(entry('vmlinux', 'K'), entry('initrd', 'I'), entry('cmdline', 'a\nb')),
      'one line of text',
    ],
    [
      'an endless cmdline',
      tar(entry('vmlinux', 'K'), entry('initrd', 'I'), entry('cmdline', 'c'.repeat(3000))),
      'longer than 2047',
    ],
  ])('with %s is refused, and nothing is left', async (_why, bytes, words) => {
    await expect(unpack(bytes)).rejects.toMatchObject({ code: 'image/format', disposition: 'permanent' })
    await expect(unpack(bytes)).rejects.toThrow(words)
    expect(await readdir(dir)).toEqual(['image'])
  })
})
