import { KiB } from '../units.ts'

interface Mark {
  name: string
  at: number
  bytes: readonly number[]
}
const mark = (name: string, at: number, bytes: string | readonly number[]): Mark => ({
  name,
  at,
  bytes: typeof bytes === 'string' ? [...bytes].map((char) => char.charCodeAt(0)) : bytes,
})

/** Files that would boot to nothing as raw, or that name further files of the host. */
const HEADS: readonly Mark[] = [
  mark('a VMDK disk', 0, 'KDMV'),
  mark('a VMDK disk', 0, 'COWD'),
  mark('the description of a VMDK disk', 0, '# Disk DescriptorFile'),
  mark('a VHDX disk', 0, 'vhdxfile'),
  mark('a VHD disk', 0, 'conectix'),
  mark('a VDI disk', 0x40, [0x7f, 0x10, 0xda, 0xbe]),
  mark('a Parallels disk', 0, 'WithoutFreeSpace'),
  mark('a Parallels disk', 0, 'WithouFreSpacExt'),
  mark('a QED disk', 0, 'QED\0'),
  mark('an encrypted (LUKS) disk', 0, [0x4c, 0x55, 0x4b, 0x53, 0xba, 0xbe]),
  mark('an encrypted (BitLocker) disk', 3, '-FVE-FS-'),
  mark('an ISO 9660 disc', 32 * KiB + 1, 'CD001'),
  mark('a tar archive', 257, 'ustar'),
  mark('a zip archive', 0, 'PK\x03\x04'),
  mark('a 7z archive', 0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]),
  mark('a squashfs', 0, 'hsqs'),
  mark('a Linux program or kernel', 0, '\x7fELF'),
]
const TAILS: readonly Mark[] = [mark('a VHD disk', 0, 'conectix'), mark('a DMG disk', 0, 'koly')]

const COMPRESSED: readonly (Mark & { unpack: string })[] = [
  { ...mark('a gzip archive', 0, [0x1f, 0x8b]), unpack: 'gzip -dk FILE' },
  { ...mark('an xz archive', 0, [0xfd, 0x37, 0x7a, 0x58, 0x5a]), unpack: 'xz -dk FILE' },
  { ...mark('a zstd archive', 0, [0x28, 0xb5, 0x2f, 0xfd]), unpack: 'zstd -d FILE' },
  { ...mark('a bzip2 archive', 0, 'BZh'), unpack: 'bzip2 -dk FILE' },
  { ...mark('an lz4 archive', 0, [0x04, 0x22, 0x4d, 0x18]), unpack: 'lz4 -d FILE' },
]

const has = (bytes: Uint8Array, { at, bytes: wanted }: Mark): boolean =>
  wanted.every((byte, i) => bytes[at + i] === byte)

/** How to unpack the file whose head this is; undefined = it is not compressed. */
export const compressionOf = (head: Uint8Array): { name: string; unpack: string } | undefined =>
  COMPRESSED.find((format) => has(head, format))

/** What a file is that is neither a raw disk, a qcow2 nor compressed, with its article; undefined = nothing known. */
export function otherFormatOf({ head, tail }: { head: Uint8Array; tail: Uint8Array }): string | undefined {
  if (isWebPage(head)) return 'a web page'
  return (HEADS.find((format) => has(head, format)) ?? TAILS.find((format) => has(tail, format)))?.name
}

/** True for the beginning of HTML, which a captive portal or an error page sends in place of an image. */
export function isWebPage(head: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(head.subarray(0, KiB))
  return /^(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*|<!--[\s\S]*?-->\s*)*<(!doctype\s+html|html|head|body)\b/i.test(text)
}
