import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { lz4LegacyDecode } from '../../../../../../src/main/control/images/tiny/lz4.ts'
import { bzImagePayload, extractVmlinux } from '../../../../../../src/main/control/images/tiny/vmlinux.ts'

const ELF = Buffer.concat([Buffer.from('\x7fELF'), Buffer.from('kernel text '.repeat(5000)), Buffer.alloc(3000, 7)])

const size = (n: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(n)
  return bytes
}

/** A bzImage around a packed payload whose last four bytes say the unpacked size. */
function bzImage(payload: Buffer): Buffer {
  const setup = Buffer.alloc(1024)
  setup[0x1f1] = 1
  setup.write('HdrS', 0x202)
  setup.writeUInt32LE(16, 0x248)
  setup.writeUInt32LE(payload.length, 0x24c)
  return Buffer.concat([setup, Buffer.alloc(16), payload, Buffer.alloc(100)])
}

const noXz = () => Promise.reject(new Error('not asked'))
/** One literal "abc", then a match of 11 from 3 back, then five literals. */
const LZ4_BLOCK = Buffer.from([0x37, 97, 98, 99, 3, 0, 0x50, 1, 2, 3, 4, 5])
const LZ4_TEXT = Buffer.concat([Buffer.from('abcabcabcabcab'), Buffer.from([1, 2, 3, 4, 5])])

describe('kernel extraction', () => {
  it.each([
    ['gzip', gzipSync(ELF)],
    ['zstd', Buffer.concat([zstdCompressSync(ELF), size(ELF.length)])],
  ])('unpacks a %s kernel to its ELF file', async (_, payload) => {
    expect(await extractVmlinux(bzImage(payload), noXz)).toEqual(ELF)
  })

  it('leaves xz to the program it was given', async () => {
    const payload = Buffer.concat([Buffer.from('\xfd7zXZ\0', 'latin1'), Buffer.from('packed'), size(ELF.length)])
    const given: Buffer[] = []
    const unxz = async (packed: Buffer) => {
      given.push(packed)
      return ELF
    }
    expect(await extractVmlinux(bzImage(payload), unxz)).toEqual(ELF)
    expect(given[0]?.subarray(6).toString()).toBe('packed')
  })

  it.each([
    ['no bzImage', Buffer.alloc(4096)],
    ['a payload outside the file', bzImage(gzipSync(ELF)).subarray(0, 1100)],
    ['a damaged payload', bzImage(Buffer.concat([gzipSync(ELF).subarray(0, 60), size(ELF.length)]))],
    ['a packing it does not know', bzImage(Buffer.concat([Buffer.from('BZh9....'), size(9)]))],
    ['what is no ELF', bzImage(gzipSync(Buffer.from('text')))],
  ])('refuses %s with image/build-failed', async (_, image) => {
    await expect(extractVmlinux(image, noXz)).rejects.toMatchObject({ code: 'image/build-failed' })
  })

  it('refuses a size no kernel has before it unpacks', () => {
    expect(() => bzImagePayload(bzImage(Buffer.concat([Buffer.from('1234'), size(0x7fffffff)])))).toThrow(/claims/)
  })
})

describe('LZ4', () => {
  const frame = (block: Buffer, total: number) =>
    Buffer.concat([Buffer.from([0x02, 0x21, 0x4c, 0x18]), size(block.length), block, size(total)])

  it('repeats what a match names, even where it overlaps itself', () => {
    expect(lz4LegacyDecode(frame(LZ4_BLOCK, LZ4_TEXT.length), LZ4_TEXT.length)).toEqual(LZ4_TEXT)
  })

  it.each([
    ['cut short', frame(LZ4_BLOCK, 19).subarray(0, 12), 19],
    ['a match before the start', frame(Buffer.from([0x10, 97, 9, 0]), 6), 6],
    ['more than was claimed', frame(LZ4_BLOCK, 5), 5],
  ])('throws on damage: %s', (_, bytes, total) => {
    expect(() => lz4LegacyDecode(bytes, total)).toThrow(RangeError)
  })
})
