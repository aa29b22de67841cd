import { describe, expect, it } from 'vitest'
import { diskFormat } from '../../../../src/agent/images/image-format.ts'

function qcow2(change: (header: Buffer) => void = () => {}): Buffer {
  const header = Buffer.alloc(512)
  header.writeUInt32BE(0x514649fb, 0)
  header.writeUInt32BE(3, 4)
  header.writeBigUInt64BE(5n << 30n, 24)
  change(header)
  return header
}

describe('what a disk image is', () => {
  it('is read from its bytes: qcow2 with its virtual size, raw with the size of the file', () => {
    expect(diskFormat(qcow2(), 200_000)).toEqual({ format: 'qcow2', virtualBytes: 5 * 1024 ** 3 })
    expect(diskFormat(Buffer.alloc(512), 4096)).toEqual({ format: 'raw', virtualBytes: 4096 })
  })

  it.each([
    ['a backing file', (h: Buffer) => h.writeBigUInt64BE(512n, 8), 'backing file'],
    ['an external data file', (h: Buffer) => h.writeBigUInt64BE(4n, 72), 'external data file'],
    ['encryption', (h: Buffer) => h.writeUInt32BE(1, 32), 'encrypted'],
    ['another version', (h: Buffer) => h.writeUInt32BE(1, 4), 'version 1'],
  ])('a qcow2 with %s is refused for good', (_why, change, words) => {
    const refusal = expect.objectContaining({ code: 'image/format', disposition: 'permanent' })
    expect(() => diskFormat(qcow2(change), 4096)).toThrow(refusal)
    expect(() => diskFormat(qcow2(change), 4096)).toThrow(words)
  })

  it('a version 2 header has no feature bits to look at', () => {
    const v2 = qcow2((h) => {
      h.writeUInt32BE(2, 4)
      h.writeBigUInt64BE(4n, 72)
    })
    expect(diskFormat(v2, 4096).format).toBe('qcow2')
  })

  it.each([
    ['gzip archive', Buffer.from([0x1f, 0x8b, 8])],
    ['xz archive', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
    ['VMDK disk', Buffer.from('KDMV')],
    ['web page', Buffer.from('<!DOCTYPE html>')],
  ])('a %s is named, not booted as raw', (name, magic) => {
    expect(() => diskFormat(Buffer.concat([magic, Buffer.alloc(512)]), 4096)).toThrow(`it is a ${name}`)
  })

  it('a cut header and an empty file are refused', () => {
    expect(() => diskFormat(qcow2().subarray(0, 40), 40)).toThrow('cut off')
    expect(() => diskFormat(Buffer.alloc(0), 0)).toThrow('smaller than one disk sector')
  })
})
