import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackKernelImage } from '../../../../src/agent/images/kernel-image.ts'

const rooms: number[] = []
const live = () => ({
  signal: AbortSignal.timeout(10_000),
  requireRoom: async (bytes: number) => void rooms.push(bytes),
})

function entry(name: string, content: Buffer | string, type = '0', prefix = ''): Buffer {
  const body = Buffer.from(content as string)
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write(type, 156)
  header.write('ustar\0', 257)
  header.write(prefix, 345)
  return Buffer.concat([signed(header), body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}
/** With the checksum of what it holds. */
function signed(header: Buffer): Buffer {
  header.write('        ', 148)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
/** Three small files, the first of which says it is of this size. */
function claiming(size: string): Buffer {
  const bytes = Buffer.concat([...['vmlinux', 'initrd', 'cmdline'].map((n) => entry(n, n)), Buffer.alloc(1024)])
  bytes.write(`${size}\0`, 124, 'latin1')
  signed(bytes.subarray(0, 512))
  return bytes
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
    expect(rooms.splice(0)).toEqual([701])
    await writeFile(join(dir, 'image'), 'gone')
    expect(await unpackKernelImage(join(dir, 'image'), join(dir, 'image.kernel'), live())).toEqual(image)
  })

  it('may name its kernel vmlinuz and its files with ./', async () => {
    const image = await unpack(tar(entry('./vmlinuz', 'Z'), entry('./initrd', 'I'), entry('./cmdline', 'quiet')))
    expect(await readFile(image.kernel, 'utf8')).toBe('Z')
  })

  it.each([
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), 'gzip -dk FILE'],
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), 'xz -dk FILE'],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'zstd -d FILE'],
  ])('packed with %s is refused with the command that unpacks it', async (_name, magic, command) => {
    await expect(unpack(Buffer.concat([magic, Buffer.alloc(1024)]))).rejects.toMatchObject({
      code: 'image/format',
      params: { next: expect.stringContaining(command) },
    })
  })

  it('is not unpacked where there is no room for it, and leaves nothing', async () => {
    await writeFile(join(dir, 'image'), good())
    const requireRoom = () => Promise.reject(new Error('full'))
    const options = { ...live(), requireRoom }
    await expect(unpackKernelImage(join(dir, 'image'), join(dir, 'image.kernel'), options)).rejects.toThrow('full')
    expect(await readdir(dir)).toEqual(['image'])
  })

  it.each([
    ['a missing initrd', tar(entry('vmlinux', 'K'), entry('cmdline', 'c')), 'holds no initrd'],
    ['another file', tar(entry('vmlinux', 'K'), entry('initrd', 'I'), entry('x/../../etc/passwd', 'p')), 'no cmdline'],
    ['a fourth file', tar(...['vmlinux', 'initrd', 'cmdline', 'more'].map((n) => entry(n, n))), 'more than 3 files'],
    ['a link', tar(entry('vmlinux', '', '2')), 'entry of type'],
    ['a hard link', tar(entry('vmlinux', '', '1')), 'entry of type'],
    ['a device', tar(entry('vmlinux', '', '3')), 'entry of type'],
    ['a long name', tar(entry('vmlinux', 'K', 'L')), 'entry of type'],
    ['a name that goes on elsewhere', tar(entry('vmlinux', 'K', '0', '../../etc')), 'a long name'],
    ['a kernel twice', tar(...['vmlinux', 'vmlinux', 'initrd'].map((n) => entry(n, n))), 'holds no cmdline'],
    ['two kernels', tar(...['vmlinux', 'vmlinuz', 'initrd'].map((n) => entry(n, n))), 'holds no cmdline'],
    ['a kernel from above', tar(...['../vmlinux', 'initrd', 'cmdline'].map((n) => entry(n, n))), 'holds no vmlinux'],
    ['a kernel from the root', tar(...['/vmlinux', 'initrd', 'cmdline'].map((n) => entry(n, n))), 'holds no vmlinux'],
    ['folders without end', tar(...Array.from({ length: 17 }, () => entry('x/', '', '5'))), 'more than 16 entries'],
    [
      'an empty kernel',
      tar(...['vmlinux', 'initrd', 'cmdline'].map((n) => entry(n, n[0] === 'v' ? '' : n))),
      'cut off',
    ],
    ['a kernel larger than the file', claiming('77777777777'), 'cut off'],
    ['a size that is no octal number', claiming('\x80\0\0\0\0\0\0\0\0\0\x01'), 'header is damaged'],
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
