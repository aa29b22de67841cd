/** Bytes that are not what they should be; whoever reads foreign input turns it into words. */
export class MalformedWire extends Error {
  override readonly name = 'MalformedWire'
}

/** Reads SSH wire types from the front; raises MalformedWire at anything cut short. */
export class WireReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get done(): boolean {
    return this.#at === this.#bytes.length
  }

  /** How many bytes were read. */
  get offset(): number {
    return this.#at
  }

  u8(): number {
    return this.#take(1).readUInt8()
  }

  u32(): number {
    return this.#take(4).readUInt32BE()
  }

  u64(): bigint {
    return this.#take(8).readBigUInt64BE()
  }

  /** A view, not a copy. */
  string(): Buffer {
    return this.#take(this.u32())
  }

  rest(): Buffer {
    return this.#take(this.#bytes.length - this.#at)
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new MalformedWire('cut short')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

export const u8 = (value: number): Buffer => Buffer.from([value])

/** Big-endian; raises RangeError outside of 32 bits. */
export function u32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeUInt32BE(value)
  return out
}

/** Big-endian; raises RangeError outside of 64 bits. */
export function u64(value: bigint): Buffer {
  const out = Buffer.alloc(8)
  out.writeBigUInt64BE(value)
  return out
}

/** Length and bytes; text as UTF-8. */
export function str(value: string | Uint8Array): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([u32(bytes.length), bytes])
}

/** A whole number that is not negative, given big-endian. */
export function mpint(unsigned: Uint8Array): Buffer {
  let start = 0
  while (start < unsigned.length && unsigned[start] === 0) start++
  const digits = unsigned.subarray(start)
  return str((digits[0] ?? 0) & 0x80 ? Buffer.concat([u8(0), digits]) : digits)
}

/** The bytes of a whole number without its sign byte; raises MalformedWire for a negative one. */
export function unsigned(mpintBytes: Buffer): Buffer {
  if ((mpintBytes[0] ?? 0) & 0x80) throw new MalformedWire('negative')
  let start = 0
  while (start < mpintBytes.length && mpintBytes[start] === 0) start++
  return mpintBytes.subarray(start)
}
