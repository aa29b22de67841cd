import { Fault } from '../faults.ts'
import { KiB, MiB } from '../units.ts'
import { compressionOf, otherFormatOf } from './other-formats.ts'

export interface DiskFormat {
  format: 'raw' | 'qcow2'
  /** Size the guest would see, bytes. */
  virtualBytes: number
}

/** The parts of an image file that tell what it is. */
export interface ImageBytes {
  /** The first HEAD_BYTES, fewer when the file is shorter. */
  head: Uint8Array
  /** The last TAIL_BYTES, fewer when the file is shorter. */
  tail: Uint8Array
  /** Size of the file. */
  size: number
}

/** Up to and with the volume descriptor of an ISO 9660 image. */
export const HEAD_BYTES = 34 * KiB
/** The footer of a fixed VHD or a DMG. */
export const TAIL_BYTES = 512

/** A larger disk is a damaged header or an attack. */
const MAX_VIRTUAL_BYTES = 64 * 1024 ** 4
const SECTOR = 512

const QCOW2_MAGIC = 0x514649fb
/** Bounds that QEMU itself puts on a header. */
const MAX_L1_BYTES = 32 * MiB
const MAX_REFCOUNT_TABLE_BYTES = 8 * MiB
const MAX_SNAPSHOTS = 65_536
const MAX_REFCOUNT_ORDER = 6
const V3_HEADER_BYTES = 104

/** Incompatible feature bits of version 3 that are harmless in an image nobody writes to. */
const KNOWN_FEATURES = (1n << 0n) | (1n << 3n) | (1n << 4n)
const CORRUPT = 1n << 1n
const EXTERNAL_DATA_FILE = 1n << 2n
const COMPRESSION_TYPE = 1n << 3n
const EXTENDED_L2 = 1n << 4n

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const u32 = (bytes: Uint8Array, at: number): number => viewOf(bytes).getUint32(at)
const u64 = (bytes: Uint8Array, at: number): bigint => viewOf(bytes).getBigUint64(at)

/** Raises `image/format` (permanent). */
export function refuse(detail: string, next?: string): never {
  throw new Fault('image/format', 'permanent', { detail, ...(next === undefined ? {} : { next }) })
}

/**
 * What a disk image is by its own bytes, never by its name. Raises `image/format` (permanent) for what is not a plain
 * raw or self-contained qcow2: a backing or external data file would let an image name any file of the host.
 */
export function diskFormat(image: ImageBytes): DiskFormat {
  const { head, size } = image
  if (head.length >= 4 && u32(head, 0) === QCOW2_MAGIC) return qcow2(head, size)
  refuseCompressed(head)
  const other = otherFormatOf(image)
  if (other !== undefined) refuse(`it is ${other}`)
  if (size < SECTOR) refuse('it is smaller than one disk sector')
  return { format: 'raw', virtualBytes: boundedSize(size) }
}

/** Raises `image/format` that says how to unpack it, when the bytes are a compressed file. */
export function refuseCompressed(head: Uint8Array): void {
  const compressed = compressionOf(head)
  if (!compressed) return
  const { name, unpack } = compressed
  refuse(`it is ${name}`, `Unpack it with "${unpack}" and use the result with its own SHA-256.`)
}

function qcow2(head: Uint8Array, fileBytes: number): DiskFormat {
  if (head.length < 72) refuse('its qcow2 header is cut off')
  const version = u32(head, 4)
  if (version !== 2 && version !== 3) refuse(`it is qcow2 version ${version}`)
  if (u64(head, 8) !== 0n) refuse('it is a qcow2 that needs a backing file')
  const clusterBits = u32(head, 20)
  if (clusterBits < 9 || clusterBits > 21) refuse(`its qcow2 header is damaged: clusters of 2^${clusterBits} bytes`)
  if (u32(head, 32) !== 0) refuse('it is an encrypted qcow2')
  const extended = version === 3 && featuresOf(head, clusterBits)
  const virtualBytes = boundedSize(Number(u64(head, 24)))
  if (virtualBytes === 0) refuse('its disk is empty')
  requireTables(head, { cluster: 2 ** clusterBits, entry: extended ? 16 : 8, virtualBytes, fileBytes })
  return { format: 'qcow2', virtualBytes }
}

/** True when its mapping tables have long entries. */
function featuresOf(head: Uint8Array, clusterBits: number): boolean {
  if (head.length < V3_HEADER_BYTES) refuse('its qcow2 header is cut off')
  const features = u64(head, 72)
  if (features & EXTERNAL_DATA_FILE) refuse('it is a qcow2 that needs an external data file')
  if (features & CORRUPT) refuse('it is a qcow2 marked corrupt')
  const unknown = features & ~KNOWN_FEATURES
  if (unknown !== 0n) refuse(`it is a qcow2 with features nobody here knows (0x${unknown.toString(16)})`)
  const length = u32(head, 100)
  if (length < V3_HEADER_BYTES || length > 2 ** clusterBits || length % 8 !== 0)
    refuse(`its qcow2 header is damaged: a header of ${length} bytes`)
  if (u32(head, 96) > MAX_REFCOUNT_ORDER) refuse('its qcow2 header is damaged: the width of its counts')
  const compression = length > V3_HEADER_BYTES ? (head[V3_HEADER_BYTES] ?? 0) : 0
  if (compression > 1 || (compression === 1) !== ((features & COMPRESSION_TYPE) !== 0n))
    refuse(`it is a qcow2 with compression nobody here knows (${compression})`)
  return (features & EXTENDED_L2) !== 0n
}

interface Geometry {
  cluster: number
  /** Bytes of one entry of a mapping table. */
  entry: number
  virtualBytes: number
  fileBytes: number
}

/** The two tables QEMU loads whole must be of a sane size and inside the file. */
function requireTables(head: Uint8Array, { cluster, entry, virtualBytes, fileBytes }: Geometry): void {
  const damaged = (what: string) => refuse(`its qcow2 header is damaged: ${what}`)
  const l1Bytes = u32(head, 36) * 8
  const l1Offset = u64(head, 40)
  const l1Needed = Math.ceil(virtualBytes / (cluster * (cluster / entry))) * 8
  if (l1Bytes > MAX_L1_BYTES || l1Bytes < l1Needed) damaged(`a mapping table of ${l1Bytes} bytes`)
  if (l1Offset % BigInt(cluster) !== 0n || l1Offset + BigInt(l1Bytes) > BigInt(fileBytes))
    damaged('its mapping table is outside the file')
  const refcountBytes = u32(head, 56) * cluster
  if (refcountBytes === 0 || refcountBytes > MAX_REFCOUNT_TABLE_BYTES) damaged('the size of its table of counts')
  const refcountOffset = u64(head, 48)
  if (refcountOffset % BigInt(cluster) !== 0n || refcountOffset + BigInt(refcountBytes) > BigInt(fileBytes))
    damaged('its table of counts is outside the file')
  if (u32(head, 60) > MAX_SNAPSHOTS) damaged('more snapshots than any disk has')
}

function boundedSize(bytes: number): number {
  if (bytes > MAX_VIRTUAL_BYTES) refuse(`its disk would be larger than ${MAX_VIRTUAL_BYTES / 1024 ** 4} TiB`)
  return bytes
}
