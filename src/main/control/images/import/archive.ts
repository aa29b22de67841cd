/** Reads `length` bytes at `offset`; fewer only at the end. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>

export interface ArchiveFile {
  /** Without a leading "./". */
  name: string
  /** First byte of its content in the archive. */
  offset: number
  size: number
}

const BLOCK = 512
const MAX_ENTRIES = 64
const MAX_PAX_BYTES = 64 * 1024

/**
 * The plain files of an uncompressed tar of `size` bytes, in order; sizes past 8 GiB and long names in the ways of GNU and
 * POSIX. Only looks: what is in it is read by offset, and no name in it becomes a path. Throws Error that says what is
 * wrong, for links and devices too.
 */
export async function indexArchive(read: ReadAt, size: number): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = []
  let given: { path?: string; size?: number } = {}
  for (let offset = 0, entries = 0; offset + BLOCK <= size; entries++) {
    const header = await read(offset, BLOCK)
    if (header.length < BLOCK || header.every((byte) => byte === 0)) break
    if (checksum(header) !== octal(header.subarray(148, 156))) throw new Error('it is no whole tar archive')
    if (entries === MAX_ENTRIES) throw new Error(`it holds more than ${MAX_ENTRIES} entries`)
    const kind = String.fromCharCode(header[156]!)
    const own = numberOf(header.subarray(124, 136))
    const length = 'xgL'.includes(kind) ? own : (given.size ?? own)
    const start = offset + BLOCK
    if (length === undefined || start + length > size) throw new Error('it is cut off')
    if ('xL'.includes(kind)) {
      if (length > MAX_PAX_BYTES) throw new Error('it holds a name that is too long')
      const words = (await read(start, length)).toString('utf8')
      given = kind === 'L' ? { ...given, path: words.replace(/\0[\s\S]*$/, '') } : { ...given, ...paxOf(words) }
    } else {
      const name = (given.path ?? nameOf(header)).replace(/^(\.\/)+/, '')
      given = {}
      if (kind === '0' || kind === '\0' || kind === '7') {
        if (files.some((file) => file.name === name)) throw new Error('it holds two files of one name')
        files.push({ name, offset: start, size: length })
      } else if (kind !== '5' && kind !== 'g') throw new Error('it holds a link or a device')
    }
    offset = start + Math.ceil(length / BLOCK) * BLOCK
  }
  return files
}

function nameOf(header: Buffer): string {
  const prefix = header.toString('latin1', 257, 262) === 'ustar' ? textOf(header.subarray(345, 500)) : ''
  return `${prefix === '' ? '' : `${prefix}/`}${textOf(header.subarray(0, 100))}`
}

const textOf = (field: Buffer): string => {
  const end = field.indexOf(0)
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8')
}

function octal(field: Buffer): number | undefined {
  const digits = textOf(field).trim()
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined
}

/** Octal digits, or with the first bit set the number itself. */
function numberOf(field: Buffer): number | undefined {
  if (!(field[0]! & 0x80)) return octal(field)
  let value = BigInt(field[0]! & 0x7f)
  for (const byte of field.subarray(1)) value = value * 256n + BigInt(byte)
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
}

function paxOf(text: string): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {}
  for (const line of text.split('\n')) {
    const [, key, value = ''] = /^\d+ (path|size)=([\s\S]*)$/.exec(line) ?? []
    if (key === 'path') found.path = value
    if (key === 'size' && /^\d{1,15}$/.test(value)) found.size = Number(value)
  }
  return found
}

function checksum(header: Buffer): number {
  let sum = 0
  for (let i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? 0x20 : header[i]!
  return sum
}
