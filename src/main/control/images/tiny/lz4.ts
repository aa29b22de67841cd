export const LZ4_LEGACY_MAGIC = 0x184c2102
const MIN_MATCH = 4

/** Unpacks a legacy LZ4 frame as the kernel build writes it; throws RangeError on damaged input. */
export function lz4LegacyDecode(frame: Buffer, size: number): Buffer {
  const out = Buffer.alloc(size)
  let at = 4
  let done = 0
  // after the last block stands the unpacked size, too small to be a block
  while (done < size) {
    const length = frame.readUInt32LE(at)
    at += 4
    if (length === 0 || at + length > frame.length) throw new RangeError('LZ4 block outside the frame')
    done = decodeBlock(frame.subarray(at, at + length), out, done)
    at += length
  }
  return out
}

function decodeBlock(block: Buffer, out: Buffer, start: number): number {
  let from = 0
  let to = start
  const extended = (nibble: number) => {
    let length = nibble
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; length += byte) byte = need(block[from++])
    return length
  }
  while (from < block.length) {
    const token = need(block[from++])
    const literals = extended(token >> 4)
    if (from + literals > block.length || to + literals > out.length) throw new RangeError('LZ4 literals too long')
    block.copy(out, to, from, from + literals)
    from += literals
    to += literals
    if (from === block.length) break
    const offset = need(block[from]) | (need(block[from + 1]) << 8)
    from += 2
    const length = extended(token & 15) + MIN_MATCH
    if (offset === 0 || offset > to || to + length > out.length) throw new RangeError('LZ4 match outside the output')
    if (offset >= length) out.copyWithin(to, to - offset, to - offset + length)
    else for (let i = 0; i < length; i++) out[to + i] = need(out[to + i - offset])
    to += length
  }
  return to
}

function need(byte: number | undefined): number {
  if (byte === undefined) throw new RangeError('LZ4 data ends early')
  return byte
}
