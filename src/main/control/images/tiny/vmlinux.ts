import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Fault } from '../../../../ipc/faults.ts'
import { LZ4_LEGACY_MAGIC, lz4LegacyDecode } from './lz4.ts'

const SETUP_SECTORS = 0x1f1
const BOOT_MAGIC = 0x202
const PAYLOAD_OFFSET = 0x248
const PAYLOAD_LENGTH = 0x24c
const SECTOR_BYTES = 512
const ELF_MAGIC = 0x464c457f
const MAX_KERNEL_BYTES = 256 << 20

/** Packed kernel inside a bzImage and the size it unpacks to (the payload's last four bytes); pure. Raises image/build-failed. */
export function bzImagePayload(image: Buffer): { packed: Buffer; size: number } {
  if (image.length < 0x260 || image.toString('latin1', BOOT_MAGIC, BOOT_MAGIC + 4) !== 'HdrS')
    throw broken('not a bzImage')
  const setup = ((image[SETUP_SECTORS] || 4) + 1) * SECTOR_BYTES
  const start = setup + image.readUInt32LE(PAYLOAD_OFFSET)
  const end = start + image.readUInt32LE(PAYLOAD_LENGTH)
  if (end > image.length || end - start < 8) throw broken('the payload lies outside the file')
  const size = image.readUInt32LE(end - 4)
  if (size > MAX_KERNEL_BYTES) throw broken(`it claims to unpack to ${size} bytes`)
  return { packed: image.subarray(start, end), size }
}

/** Unpacks the ELF kernel of a bzImage: LZ4, zstd and gzip here, xz by `unxz`. Raises image/build-failed. */
export async function extractVmlinux(image: Buffer, unxz: (packed: Buffer) => Promise<Buffer>): Promise<Buffer> {
  const { packed, size } = bzImagePayload(image)
  const vmlinux = await unpack(packed, size, unxz)
  if (vmlinux.length !== size || vmlinux.readUInt32LE(0) !== ELF_MAGIC) throw broken('what it unpacks to is no kernel')
  return vmlinux
}

async function unpack(packed: Buffer, size: number, unxz: (packed: Buffer) => Promise<Buffer>): Promise<Buffer> {
  const magic = packed.readUInt32LE(0)
  const limit = { maxOutputLength: size }
  try {
    if (magic === LZ4_LEGACY_MAGIC) return lz4LegacyDecode(packed, size)
    if (magic === 0xfd2fb528) return zstdDecompressSync(packed.subarray(0, -4), limit)
    if ((magic & 0xffff) === 0x8b1f) return gunzipSync(packed, limit)
    if (packed.toString('latin1', 1, 4) === '7zX') return await unxz(packed.subarray(0, -4))
  } catch (cause) {
    throw broken('its payload is damaged', cause)
  }
  throw broken(`its payload is packed in a way not known here (${packed.toString('hex', 0, 4)})`)
}

function broken(detail: string, cause?: unknown): Fault {
  return new Fault('image/build-failed', 'permanent', { message: `Debian's kernel file: ${detail}` }, { cause })
}
