import { describe, expect, it } from 'vitest'
import { diskFormat } from '../../../../src/ipc/disk-image/image-format.ts'

const TiB = 1024n ** 4n

/** A whole, empty qcow2 of 5 GiB with clusters of 64 KiB, of which this is the head. */
function qcow2(change: (header: Buffer) => void = () => {}): Buffer {
  const header = Buffer.alloc(1024)
  header.writeUInt32BE(0x514649fb, 0)
  header.writeUInt32BE(3, 4)
  header.writeUInt32BE(16, 20)
  header.writeBigUInt64BE(5n << 30n, 24)
  header.writeUInt32BE(10, 36)
  header.writeBigUInt64BE(0x30000n, 40)
  header.writeBigUInt64BE(0x10000n, 48)
  header.writeUInt32BE(1, 56)
  header.writeUInt32BE(4, 96)
  header.writeUInt32BE(112, 100)
  change(header)
  return header
}
const features =
  (bits: bigint, compression: number, entries = 10) =>
  (header: Buffer) => {
    header.writeBigUInt64BE(bits, 72)
    header.writeUInt8(compression, 104)
    header.writeUInt32BE(entries, 36)
  }
const FILE = 200_000
const look = (head: Buffer, size = FILE, tail = Buffer.alloc(512)) => diskFormat({ head, tail, size })
const raw = (at: number, magic: string | Buffer) => {
  const head = Buffer.alloc(34 * 1024)
  Buffer.from(magic as string, 'latin1').copy(head, at)
  return head
}

describe('what a disk image is', () => {
  it('is read from its bytes: qcow2 with its virtual size, raw with the size of the file', () => {
    expect(look(qcow2())).toEqual({ format: 'qcow2', virtualBytes: 5 * 1024 ** 3 })
    expect(look(Buffer.alloc(512), 4096)).toEqual({ format: 'raw', virtualBytes: 4096 })
  })

  it.each<[string, (h: Buffer) => void, string]>([
    ['a backing file', (h) => h.writeBigUInt64BE(512n, 8), 'backing file'],
    ['an external data file', (h) => h.writeBigUInt64BE(4n, 72), 'external data file'],
    ['encryption', (h) => h.writeUInt32BE(2, 32), 'encrypted'],
    ['another version', (h) => h.writeUInt32BE(1, 4), 'version 1'],
    ['its corrupt bit set', (h) => h.writeBigUInt64BE(2n, 72), 'marked corrupt'],
    ['a feature nobody knows', (h) => h.writeBigUInt64BE(0x20n, 72), 'features nobody here knows (0x20)'],
    ['unknown compression', features(8n, 2), 'compression nobody'],
    ['clusters too small to be true', (h) => h.writeUInt32BE(8, 20), 'clusters of 2^8'],
    ['clusters too large to be true', (h) => h.writeUInt32BE(22, 20), 'clusters of 2^22'],
    ['a header longer than a cluster', (h) => h.writeUInt32BE(0x10008, 100), 'a header of 65544 bytes'],
    ['a header shorter than its fields', (h) => h.writeUInt32BE(72, 100), 'a header of 72 bytes'],
    ['counts wider than any', (h) => h.writeUInt32BE(7, 96), 'width of its counts'],
    ['a disk larger than any', (h) => h.writeBigUInt64BE(64n * TiB + 512n, 24), 'larger than 64 TiB'],
    ['a disk of no bytes', (h) => h.writeBigUInt64BE(0n, 24), 'its disk is empty'],
    ['a mapping table that would fill the memory', (h) => h.writeUInt32BE(0xffffffff, 36), 'a mapping table of'],
    ['a mapping table too short for its disk', (h) => h.writeUInt32BE(9, 36), 'a mapping table of 72'],
    ['a mapping table behind the end', (h) => h.writeBigUInt64BE(0x40000n, 40), 'outside the file'],
    ['a mapping table between clusters', (h) => h.writeBigUInt64BE(0x30008n, 40), 'outside the file'],
    ['no counts', (h) => h.writeUInt32BE(0, 56), 'table of counts'],
    ['counts that would fill the memory', (h) => h.writeUInt32BE(0xffff, 56), 'table of counts'],
    ['counts behind the end', (h) => h.writeBigUInt64BE(1n << 60n, 48), 'outside the file'],
    ['a million snapshots', (h) => h.writeUInt32BE(1_000_000, 60), 'more snapshots'],
  ])('a qcow2 with %s is refused for good', (_why, change, words) => {
    const refusal = expect.objectContaining({ code: 'image/format', disposition: 'permanent' })
    expect(() => look(qcow2(change))).toThrow(refusal)
    expect(() => look(qcow2(change))).toThrow(words)
  })

  it('may be a qcow2 with zstd compression, long mapping entries or a dirty bit: nobody writes to it', () => {
    for (const [bits, compression] of [
      [8n, 1],
      [1n, 0],
    ] as const) {
      const head = qcow2(features(bits, compression))
      expect(look(head).format).toBe('qcow2')
    }
    const long = (entries: number) => qcow2(features(16n, 0, entries))
    expect(look(long(20)).format).toBe('qcow2')
    expect(() => look(long(19))).toThrow('a mapping table of')
  })

  it('has no feature bits in version 2', () => {
    const v2 = qcow2((h) => {
      h.writeUInt32BE(2, 4)
      h.fill(0xff, 72)
    })
    expect(look(v2).format).toBe('qcow2')
  })

  it.each([
    ['a VMDK disk', raw(0, 'KDMV')],
    ['a VMDK disk', raw(0, 'COWD')],
    ['the description of a VMDK disk', raw(0, '# Disk DescriptorFile\nversion=1\n')],
    ['a VHDX disk', raw(0, 'vhdxfile')],
    ['a VHD disk', raw(0, 'conectix')],
    ['a VDI disk', raw(0x40, Buffer.from([0x7f, 0x10, 0xda, 0xbe]))],
    ['an encrypted (LUKS) disk', raw(0, 'LUKS\xba\xbe\0\x02')],
    ['an ISO 9660 disc', raw(32769, 'CD001')],
    ['a tar archive', raw(257, 'ustar')],
    ['a Linux program or kernel', raw(0, '\x7fELF')],
    ['a web page', raw(0, '<!DOCTYPE html>')],
    ['a web page', raw(0, '\xef\xbb\xbf\n <!-- hello --><HTML lang="en">')],
  ])('%s is named, not booted as raw', (name, head) => {
    expect(() => look(head, 1024 ** 2)).toThrow(`it is ${name}`)
  })

  it('is a VHD, not raw, when only its end says so', () => {
    const footer = Buffer.alloc(512)
    footer.write('conectix')
    expect(() => look(Buffer.alloc(34 * 1024), 1024 ** 2, footer)).toThrow('it is a VHD disk')
  })

  it.each([
    ['a gzip archive', Buffer.from([0x1f, 0x8b, 8]), 'gzip -dk'],
    ['an xz archive', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), 'xz -dk'],
    ['a zstd archive', Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'zstd -d'],
    ['a bzip2 archive', Buffer.from('BZh9'), 'bzip2 -dk'],
  ])('%s is refused with the command that unpacks it', (name, magic, command) => {
    const params = { detail: `it is ${name}`, next: expect.stringContaining(command) }
    expect(() => look(raw(0, magic))).toThrow(expect.objectContaining({ code: 'image/format', params }))
  })

  it('cannot be told from a cut header, less than a sector or more than any disk', () => {
    expect(() => look(qcow2().subarray(0, 40), 40)).toThrow('cut off')
    expect(() => look(qcow2().subarray(0, 96), 96)).toThrow('cut off')
    expect(() => look(Buffer.alloc(0), 0)).toThrow('smaller than one disk sector')
    expect(() => look(Buffer.alloc(512), 65 * Number(TiB))).toThrow('larger than 64 TiB')
  })
})
