const SECTOR = 2048
/** Sectors: 16 volume descriptor, 17 terminator, 18 and 19 path tables, from 20 the root directory. */
const DESCRIPTOR = 16
const TERMINATOR = 17
const PATH_TABLE_LE = 18
const PATH_TABLE_BE = 19
const ROOT = 20

/**
 * A flat ISO 9660 image: the files in its root, names kept as given (lower case and hyphens are outside the strictest
 * level, and read by Linux, cloud-init, blkid and busybox alike). Label at most 32 characters.
 */
export function buildIso(label: string, files: Readonly<Record<string, Uint8Array>>, date: Date): Uint8Array {
  const entries = Object.entries(files)
    .map(([name, data]) => ({ name, data }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const stamp = shortDate(date)
  const dirSectors =
    directory(
      entries,
      entries.map(() => 0),
      SECTOR,
      stamp,
    ).length / SECTOR
  let next = ROOT + dirSectors
  const sectors = entries.map(({ data }) => {
    const at = data.length === 0 ? 0 : next
    next += Math.ceil(data.length / SECTOR)
    return at
  })
  const image = Buffer.alloc(next * SECTOR)
  descriptor(image.subarray(DESCRIPTOR * SECTOR), label, next, dirSectors * SECTOR, date)
  image.set([255, ...Buffer.from('CD001'), 1], TERMINATOR * SECTOR)
  pathTable(image.subarray(PATH_TABLE_LE * SECTOR), false)
  pathTable(image.subarray(PATH_TABLE_BE * SECTOR), true)
  directory(entries, sectors, dirSectors * SECTOR, stamp).copy(image, ROOT * SECTOR)
  for (const [i, { data }] of entries.entries()) image.set(data, sectors[i]! * SECTOR)
  return image
}

interface Entry {
  name: string
  data: Uint8Array
}

function directory(entries: Entry[], sectors: number[], dirBytes: number, stamp: Buffer): Buffer {
  const records = [
    fileRecord(Buffer.from([0]), ROOT, dirBytes, true, stamp),
    fileRecord(Buffer.from([1]), ROOT, dirBytes, true, stamp),
    ...entries.map(({ name, data }, i) =>
      fileRecord(Buffer.from(`${name};1`, 'ascii'), sectors[i]!, data.length, false, stamp),
    ),
  ]
  let out: Buffer = Buffer.alloc(0)
  for (const record of records) {
    const room = SECTOR - (out.length % SECTOR)
    out = Buffer.concat([out, Buffer.alloc(room < record.length ? room : 0), record])
  }
  return Buffer.concat([out, Buffer.alloc((SECTOR - (out.length % SECTOR)) % SECTOR)])
}

function fileRecord(id: Buffer, sector: number, bytes: number, isDir: boolean, stamp: Buffer): Buffer {
  const length = 33 + id.length + (id.length % 2 === 0 ? 1 : 0)
  const record = Buffer.alloc(length)
  record[0] = length
  both32(record, 2, sector)
  both32(record, 10, bytes)
  stamp.copy(record, 18)
  record[25] = isDir ? 2 : 0
  both16(record, 28, 1)
  record[32] = id.length
  id.copy(record, 33)
  return record
}

function descriptor(out: Buffer, label: string, sectors: number, dirBytes: number, date: Date): void {
  out[0] = 1
  out.write('CD001', 1)
  out[6] = 1
  out.fill(' ', 8, 72)
  out.write(label, 40, 32, 'ascii')
  both32(out, 80, sectors)
  both16(out, 120, 1)
  both16(out, 124, 1)
  both16(out, 128, SECTOR)
  both32(out, 132, 10)
  out.writeUInt32LE(PATH_TABLE_LE, 140)
  out.writeUInt32BE(PATH_TABLE_BE, 148)
  fileRecord(Buffer.from([0]), ROOT, dirBytes, true, shortDate(date)).copy(out, 156)
  out.fill(' ', 190, 813)
  const digits = date
    .toISOString()
    .replace(/[^0-9]/g, '')
    .slice(0, 16)
    .padEnd(16, '0')
  for (const at of [813, 830]) out.write(digits, at)
  for (const at of [847, 864]) out.write('0'.repeat(16), at)
  out[881] = 1
}

function pathTable(out: Buffer, bigEndian: boolean): void {
  out[0] = 1
  if (bigEndian) {
    out.writeUInt32BE(ROOT, 2)
    out.writeUInt16BE(1, 6)
  } else {
    out.writeUInt32LE(ROOT, 2)
    out.writeUInt16LE(1, 6)
  }
}

const shortDate = (d: Date): Buffer =>
  Buffer.from([
    d.getUTCFullYear() - 1900,
    d.getUTCMonth() + 1,
    d.getUTCDate(),
    d.getUTCHours(),
    d.getUTCMinutes(),
    d.getUTCSeconds(),
    0,
  ])

function both32(out: Buffer, at: number, value: number): void {
  out.writeUInt32LE(value, at)
  out.writeUInt32BE(value, at + 4)
}

function both16(out: Buffer, at: number, value: number): void {
  out.writeUInt16LE(value, at)
  out.writeUInt16BE(value, at + 2)
}
