import { MalformedWire, str, u8, u32, u64, WireReader } from './wire.ts'

/** Revoked serials of one CA; `caBlob` undefined = of every CA. */
export interface RevokedSerials {
  caBlob: Buffer | undefined
  serials: readonly bigint[]
}

export interface Krl {
  /** Rises with each list. */
  version: bigint
  /** Seconds since 1970. */
  generatedAt: bigint
  comment: string
  revoked: readonly RevokedSerials[]
}

/** Most serials of one list, written or read. */
export const MAX_KRL_SERIALS = 10_000

const MAGIC = 0x5353_484b_524c_0a00n
const FORMAT = 1
const CERTIFICATES = 1
const SERIAL_LIST = 0x20
const SERIAL_RANGE = 0x21
const SERIAL_BITMAP = 0x22

/** An OpenSSH key revocation list; equal input gives equal bytes. Raises MalformedWire for serial 0, which cannot be revoked, and past 10,000 serials. */
export function writeKrl({ version, generatedAt, comment, revoked }: Krl): Buffer {
  const filled = revoked.filter(({ serials }) => serials.length > 0)
  const sections = [...filled].sort((a, b) => Buffer.compare(blobOf(a), blobOf(b)))
  if (sections.reduce((sum, { serials }) => sum + serials.length, 0) > MAX_KRL_SERIALS)
    throw new MalformedWire('too many')
  return Buffer.concat([
    u64(MAGIC),
    u32(FORMAT),
    u64(version),
    u64(generatedAt),
    u64(0n),
    str(''),
    str(comment),
    ...sections.flatMap((section) => [u8(CERTIFICATES), str(certificateSection(section))]),
  ])
}

const blobOf = ({ caBlob }: RevokedSerials): Buffer => caBlob ?? Buffer.alloc(0)

function certificateSection(section: RevokedSerials): Buffer {
  const serials = [...new Set(section.serials)].sort((a, b) => (a < b ? -1 : 1))
  if (serials[0] === 0n) throw new MalformedWire('serial 0 cannot be revoked')
  return Buffer.concat([str(blobOf(section)), str(''), u8(SERIAL_LIST), str(Buffer.concat(serials.map(u64)))])
}

/** The certificates a list revokes by serial; undefined when it is no list, or holds what this does not read. */
export function readKrl(bytes: Uint8Array): Krl | undefined {
  try {
    return read(new WireReader(bytes))
  } catch (error) {
    if (error instanceof MalformedWire) return undefined
    throw error
  }
}

function read(reader: WireReader): Krl {
  if (reader.u64() !== MAGIC || reader.u32() !== FORMAT) throw new MalformedWire('no list')
  const [version, generatedAt] = [reader.u64(), reader.u64()]
  reader.u64()
  reader.string()
  const comment = reader.string().toString('utf8')
  const revoked: RevokedSerials[] = []
  let left = MAX_KRL_SERIALS
  while (!reader.done) {
    if (reader.u8() !== CERTIFICATES) throw new MalformedWire('a section of another kind')
    const section = readSection(reader.string(), left)
    left -= section.serials.length
    revoked.push(section)
  }
  return { version, generatedAt, comment, revoked }
}

function readSection(bytes: Buffer, left: number): RevokedSerials {
  const reader = new WireReader(bytes)
  const blob = reader.string()
  reader.string()
  const serials: bigint[] = []
  const add = (serial: bigint) => {
    if (serial === 0n) throw new MalformedWire('serial 0 cannot be revoked')
    if (serials.push(serial) > left) throw new MalformedWire('too many')
  }
  while (!reader.done) {
    const kind = reader.u8()
    const body = new WireReader(reader.string())
    if (kind === SERIAL_LIST) while (!body.done) add(body.u64())
    else if (kind === SERIAL_RANGE) for (let [at, last] = [body.u64(), body.u64()]; at <= last; at++) add(at)
    else if (kind === SERIAL_BITMAP) readBitmap(body.u64(), body.string(), add)
    else throw new MalformedWire('revokes by something else than a serial')
  }
  return { caBlob: blob.length === 0 ? undefined : Buffer.from(blob), serials }
}

/** Bit n of the number, counted from the least, is serial `first + n`. */
function readBitmap(first: bigint, bits: Buffer, add: (serial: bigint) => void): void {
  for (let byte = bits.length - 1, n = 0n; byte >= 0; byte--, n += 8n)
    for (let bit = 0n; bit < 8n; bit++) if (((bits[byte] ?? 0) >> Number(bit)) & 1) add(first + n + bit)
}

/** Whether a list revokes a serial of a CA. */
export const revokes = (krl: Krl, caBlob: Buffer, serial: bigint): boolean =>
  krl.revoked.some((section) => (!section.caBlob || section.caBlob.equals(caBlob)) && section.serials.includes(serial))
