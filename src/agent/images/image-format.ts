import { Fault } from '../../ipc/faults.ts'

export interface DiskFormat {
  format: 'raw' | 'qcow2'
  /** Size the guest would see, bytes. */
  virtualBytes: number
}

/** Bytes of the head that `diskFormat` looks at. */
export const FORMAT_HEAD_BYTES = 512

const EXTERNAL_DATA_FILE = 1n << 2n

/** Disks and archives that a person may hand us by mistake; as raw they would boot to nothing. */
const OTHERS: readonly { name: string; magic: readonly number[] }[] = [
  { name: 'gzip archive', magic: [0x1f, 0x8b] },
  { name: 'xz archive', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
  { name: 'zstd archive', magic: [0x28, 0xb5, 0x2f, 0xfd] },
  { name: 'bzip2 archive', magic: [0x42, 0x5a, 0x68] },
  { name: 'zip archive', magic: [0x50, 0x4b, 0x03, 0x04] },
  { name: 'VMDK disk', magic: [0x4b, 0x44, 0x4d, 0x56] },
  { name: 'VHDX disk', magic: [...Buffer.from('vhdxfile')] },
  { name: 'VHD disk', magic: [...Buffer.from('conectix')] },
  { name: 'web page', magic: [...Buffer.from('<!DOCTYPE')] },
  { name: 'web page', magic: [...Buffer.from('<html')] },
]

/**
 * What a disk image is by its own bytes, never by its name. Raises `image/format` (permanent) for what is not a plain
 * raw or self-contained qcow2: a backing or external data file would let an image name any file of the host.
 */
export function diskFormat(head: Uint8Array, fileBytes: number): DiskFormat {
  const refuse = (detail: string) => new Fault('image/format', 'permanent', { detail })
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (bytes.length >= 4 && bytes.readUInt32BE(0) === 0x514649fb) {
    if (bytes.length < 72) throw refuse('its qcow2 header is cut off')
    const version = bytes.readUInt32BE(4)
    if (version !== 2 && version !== 3) throw refuse(`it is qcow2 version ${version}`)
    if (bytes.readBigUInt64BE(8) !== 0n) throw refuse('it is a qcow2 that needs a backing file')
    if (bytes.readUInt32BE(32) !== 0) throw refuse('it is an encrypted qcow2')
    if (version === 3) {
      if (bytes.length < 80) throw refuse('its qcow2 header is cut off')
      if (bytes.readBigUInt64BE(72) & EXTERNAL_DATA_FILE) throw refuse('it is a qcow2 that needs an external data file')
    }
    return { format: 'qcow2', virtualBytes: Number(bytes.readBigUInt64BE(24)) }
  }
  const other = OTHERS.find(({ magic }) => magic.every((byte, i) => bytes[i] === byte))
  if (other) throw refuse(`it is a ${other.name}`)
  if (fileBytes < 512) throw refuse('it is smaller than one disk sector')
  return { format: 'raw', virtualBytes: fileBytes }
}
