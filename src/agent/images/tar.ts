import { Fault } from '../../ipc/faults.ts'

const BLOCK = 512
/** Folders and files together; more is no kernel image. */
const MAX_HEADERS = 16

export interface TarEntry {
  name: string
  /** First byte of the content in the archive. */
  offset: number
  size: number
}

/** Reads `length` bytes at `offset`; fewer only at the end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>

/**
 * The regular files of an uncompressed tar, at most `limit` of them, in order. Raises `image/format` (permanent) for
 * damage and for anything but plain files and folders: links and long names have no place in a kernel image.
 */
export async function readTar(read: ReadAt, limit: number): Promise<TarEntry[]> {
  const refuse = (detail: string) => new Fault('image/format', 'permanent', { detail })
  const entries: TarEntry[] = []
  for (let offset = 0, headers = 0; ; headers++) {
    const header = Buffer.from(await read(offset, BLOCK))
    if (header.length < BLOCK || header.every((b) => b === 0)) return entries
    if (checksum(header) !== octal(header, 148, 8)) throw refuse('it is not an uncompressed tar')
    if (headers === MAX_HEADERS) throw refuse(`it holds more than ${MAX_HEADERS} entries`)
    const size = octal(header, 124, 12)
    if (size === undefined) throw refuse('its tar header is damaged')
    const kind = String.fromCharCode(header[156]!)
    const name = text(header, 0, 100).replace(/^\.\//, '')
    if (text(header, 345, 155) !== '' && text(header, 257, 5) === 'ustar') throw refuse('it holds a long name')
    if (kind === '0' || kind === '\0') {
      if (entries.length === limit) throw refuse(`it holds more than ${limit} files`)
      entries.push({ name, offset: offset + BLOCK, size })
    } else if (kind !== '5') throw refuse(`it holds an entry of type ${JSON.stringify(kind)}`)
    offset += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
}

function text(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.subarray(0, end < 0 ? length : end).toString('utf8')
}

function octal(header: Buffer, start: number, length: number): number | undefined {
  const digits = text(header, start, length).trim()
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined
}

function checksum(header: Buffer): number {
  let sum = 0
  for (let i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? 0x20 : header[i]!
  return sum
}
