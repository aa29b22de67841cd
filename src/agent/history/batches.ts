import { crc32 } from 'node:zlib'
import { SLOT_WORDS } from './slot.ts'

/** Minutes written together, one after the other. The file of a subject is a row of these, each whole or not there. */
export interface Batch {
  bootId: string
  /** Since that boot, where the last minute ends, ms. */
  uptimeMs: number
  /** The same moment by the wall clock, which may have been wrong. */
  wallMs: number
  /** SLOT_WORDS a minute, oldest first. */
  words: Uint16Array
}

const MAGIC = Buffer.from('EITRIHI1')
/** Magic, checksum of all behind it, minutes, boot id, uptime, wall clock. */
const HEAD_BYTES = 8 + 4 + 4 + 16 + 8 + 8
const MINUTE_BYTES = SLOT_WORDS * 2
/** More minutes than this nobody writes together. */
export const MAX_BATCH_MINUTES = 1_440

/** A batch as it is written. */
export function encodeBatch({ bootId, uptimeMs, wallMs, words }: Batch): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + words.length * 2)
  MAGIC.copy(bytes)
  bytes.writeUInt32LE(words.length / SLOT_WORDS, 12)
  Buffer.from(bootId.replaceAll('-', ''), 'hex').copy(bytes, 16, 0, 16)
  bytes.writeDoubleLE(uptimeMs, 32)
  bytes.writeDoubleLE(wallMs, 40)
  for (const [i, word] of words.entries()) bytes.writeUInt16LE(word, HEAD_BYTES + i * 2)
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8)
  return bytes
}

export const batchBytes = (minutes: number): number => HEAD_BYTES + minutes * MINUTE_BYTES

/** Boot ids as they are kept: 32 hex digits. */
export const plainBootId = (bootId: string): string => bootId.replaceAll('-', '').padEnd(32, '0').slice(0, 32)

/** What of the bytes is whole, and how far that goes; what is behind was cut off while it was written, or is damaged. */
export function decodeBatches(bytes: Buffer): { batches: Batch[]; goodBytes: number } {
  const batches: Batch[] = []
  let at = 0
  while (at + HEAD_BYTES <= bytes.length) {
    if (!bytes.subarray(at, at + 8).equals(MAGIC)) break
    const minutes = bytes.readUInt32LE(at + 12)
    const end = at + batchBytes(minutes)
    if (minutes === 0 || minutes > MAX_BATCH_MINUTES || end > bytes.length) break
    if (bytes.readUInt32LE(at + 8) !== crc32(bytes.subarray(at + 12, end))) break
    const words = new Uint16Array(minutes * SLOT_WORDS)
    for (let i = 0; i < words.length; i++) words[i] = bytes.readUInt16LE(at + HEAD_BYTES + i * 2)
    batches.push({
      bootId: bytes.subarray(at + 16, at + 32).toString('hex'),
      uptimeMs: bytes.readDoubleLE(at + 32),
      wallMs: bytes.readDoubleLE(at + 40),
      words,
    })
    at = end
  }
  return { batches, goodBytes: at }
}

/** A moment of this host: boot, time since it, wall clock. */
export type Moment = Omit<Batch, 'words'>

/**
 * How long before `now` each batch ends, ms. Within a boot its own time counts, whatever the wall clock did; between two
 * boots the wall clock is asked, and never believed where the later boot alone took longer.
 */
export function agesOf(batches: readonly Moment[], now: Moment): number[] {
  const ages: number[] = []
  let later = now
  let age = 0
  for (const batch of batches.toReversed()) {
    const between =
      batch.bootId === later.bootId
        ? later.uptimeMs - batch.uptimeMs
        : Math.max(later.wallMs - batch.wallMs, later.uptimeMs)
    age += Math.max(0, between)
    ages.unshift(age)
    later = batch
  }
  return ages
}
