import { describe, expect, it } from 'vitest'
import { indexArchive } from '../../../../../../src/main/control/images/import/archive.ts'
import { manifestDigest, parseOvf } from '../../../../../../src/main/control/images/import/ovf.ts'
import { parseXml } from '../../../../../../src/main/control/images/import/xml.ts'
import { ovfOf, tarOf } from '../../../../../support/ova.ts'

describe('an OVF description', () => {
  it('names the file of its one disk, its processors and its memory', () => {
    expect(parseOvf(ovfOf())).toEqual({ disk: 'disk1.vmdk', vcpus: 2, memMb: 192 })
  })

  it.each([
    ['byte * 2^10', '196608', 192],
    ['byte * 2^30', '1', 1024],
    ['MegaBytes', '64', 64],
    ['', '64', 64],
    ['furlongs', '64', 0],
    ['byte * 2^20', '-5', 0],
    ['byte * 2^20', '99999999999', 0],
  ])('has its memory in "%s" read: %s', (unit, memory, memMb) => {
    expect(parseOvf(ovfOf({ unit, memory })).memMb).toBe(memMb)
  })

  it('with processors nobody can have says nothing of them', () => {
    expect(parseOvf(ovfOf({ cpus: '100000' })).vcpus).toBe(0)
  })

  it.each([
    ['two disks', { disks: '<ovf:Disk ovf:diskId="b" ovf:fileRef="file1"/>' }, 'it has 2 disks, and a VM here has one'],
    ['two VMs', { systems: '<ovf:VirtualSystem/>' }, 'it holds 2 VMs, and one is taken at a time'],
    ['a disk on another', { disk: 'ovf:parentRef="x"' }, 'its disk needs another one'],
    ['a compressed disk', { file: 'ovf:compression="gzip"' }, 'its disk is compressed (gzip)'],
    ['a split disk', { file: 'ovf:chunkSize="1"' }, 'its disk is split into several files'],
    ['a disk elsewhere', { href: 'http://host.test/disk1.vmdk' }, 'its disk is not a file beside it'],
    ['a disk further up', { href: '../../etc/passwd' }, 'its disk is not a file beside it'],
    ['a disk at the root', { href: '/etc/passwd' }, 'its disk is not a file beside it'],
  ])('with %s is refused', (_what, change, words) => {
    expect(() => parseOvf(ovfOf(change))).toThrow(words)
  })

  it.each([
    ['a document type', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', 'it has a document type'],
    ['an entity of its own', '<a>&x;</a>', 'it names an entity &x;'],
    ['an end without a beginning', '<a></b>', 'b ends where it did not begin'],
    ['no end', '<a><b></b>', 'a has no end'],
    ['two roots', '<a/><b/>', 'it has not one root'],
    ['something else', 'not xml', 'it has not one root'],
    ['too many elements', `<a>${'<b/>'.repeat(20_001)}</a>`, 'it has too many elements'],
    ['too many in each other', '<a>'.repeat(70), 'it has too many elements'],
  ])('that is XML with %s is refused', (_what, text, words) => {
    expect(() => parseXml(text)).toThrow(words)
  })

  it('has its escapes read, and its comments and sections left out', () => {
    const read = parseXml('\ufeff<?xml version="1.0"?><!-- <x> --><n:a b="&lt;&#65;&#x42;"><![CDATA[<&>]]> &amp;</n:a>')
    expect(read).toMatchObject({ name: 'a', attributes: { b: '<AB' }, text: '<&> &' })
  })

  it('has its manifest read by the name of the file', () => {
    const manifest = 'SHA1(a.ovf)= AA\r\nSHA256 (disk1.vmdk) = Bb\r\n'
    expect(manifestDigest(manifest, 'disk1.vmdk')).toEqual({ algorithm: 'sha256', hex: 'bb' })
    expect(manifestDigest(manifest, 'other')).toBeUndefined()
  })
})

describe('an archive', () => {
  const index = (bytes: Buffer) =>
    indexArchive(async (offset, length) => bytes.subarray(offset, offset + length), bytes.length)

  it('is read by offset, file after file', async () => {
    const bytes = tarOf([
      { name: './a.ovf', content: 'one' },
      { name: 'dir/', content: '', kind: '5' },
      { name: 'b.vmdk', content: Buffer.alloc(1_000, 7) },
    ])
    const files = await index(bytes)
    expect(files.map(({ name, size }) => [name, size])).toEqual([
      ['a.ovf', 3],
      ['b.vmdk', 1_000],
    ])
    expect(bytes.subarray(files[0]!.offset, files[0]!.offset + 3).toString()).toBe('one')
  })

  it('may have sizes and names in the ways of POSIX, of GNU and past 8 GiB', async () => {
    const long = `${'n'.repeat(150)}.vmdk`
    const bytes = tarOf([
      { name: 'PaxHeaders', content: `${13 + long.length} path=${long}\n`, kind: 'x' },
      { name: 'short', content: 'x' },
      { name: '././@LongLink', content: `${long}2\0`, kind: 'L' },
      { name: 'short', content: 'y' },
    ])
    expect((await index(bytes)).map(({ name }) => name)).toEqual([long, `${long}2`])
    const big = tarOf([{ name: 'big', content: '' }])
    big.fill(0, 124, 136)
    big[124] = 0x80
    big.writeBigUInt64BE(BigInt(9 * 1024 ** 3), 128)
    big.write('        ', 148)
    const sum = big.subarray(0, 512).reduce((total, byte) => total + byte, 0)
    big.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const read = async (offset: number, length: number) =>
      offset < big.length ? big.subarray(offset, offset + length) : Buffer.alloc(length)
    expect(await indexArchive(read, 10 * 1024 ** 3)).toEqual([{ name: 'big', offset: 512, size: 9 * 1024 ** 3 }])
  })

  it.each([
    ['links', tarOf([{ name: 'a', content: '', kind: '2' }]), 'it holds a link or a device'],
    ['devices', tarOf([{ name: 'a', content: '', kind: '3' }]), 'it holds a link or a device'],
    [
      'one name twice',
      tarOf([
        { name: 'a', content: '' },
        { name: 'a', content: '' },
      ]),
      'it holds two files of one name',
    ],
    ['too many entries', tarOf(Array(65).fill({ name: 'd', content: '', kind: '5' })), 'it holds more than 64 entries'],
    ['less than it says', tarOf([{ name: 'a', content: 'x'.repeat(5_000) }]).subarray(0, 2_000), 'it is cut off'],
    ['damage', Buffer.alloc(2048, 1), 'it is no whole tar archive'],
  ])('with %s is refused', async (_what, bytes, words) => {
    await expect(index(bytes)).rejects.toThrow(words)
  })
})
