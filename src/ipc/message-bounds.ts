import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { LIMITS } from './units.ts'

const MAX_DEPTH = 100
const HEADER_BYTES = 5

interface Field {
  wireTypes: readonly WireType[]
  /** The message it holds; undefined = none. */
  message: DescMessage | undefined
}

const fieldsByMessage = new WeakMap<DescMessage, Map<number, Field>>()

function fieldsOf(desc: DescMessage): Map<number, Field> {
  const known = fieldsByMessage.get(desc)
  if (known) return known
  const fields = new Map(desc.fields.map((field) => [field.number, fieldOf(field)]))
  fieldsByMessage.set(desc, fields)
  return fields
}

function fieldOf(field: DescField): Field {
  const one = field.scalar === undefined ? WireType.LengthDelimited : wireTypeOf(field.scalar)
  const listed = field.fieldKind === 'list' ? [one, WireType.LengthDelimited] : [one]
  const wireTypes = field.enum ? [...listed, WireType.Varint] : listed
  return { wireTypes, message: field.fieldKind === 'map' ? undefined : field.message }
}

function wireTypeOf(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}

/**
 * Whether decoding makes at most `limit` objects: messages, itself included, and fields it does not know. An empty one
 * takes two bytes encoded and a kilobyte decoded. False also for known fields of another wire type, which the decoder
 * would read as something else than was counted; bytes that end too early are left to it.
 */
export function isBearable(desc: DescMessage, bytes: Uint8Array, limit: number = LIMITS.messageParts): boolean {
  const reader = new BinaryReader(bytes)
  let parts = 0
  const count = (message: DescMessage, end: number, depth: number): boolean => {
    if (++parts > limit) return false
    const fields = fieldsOf(message)
    while (reader.pos < end) {
      const [number, wireType] = reader.tag()
      const field = fields.get(number)
      if (field && !field.wireTypes.includes(wireType)) return false
      if (!field && ++parts > limit) return false
      if (!field?.message || depth === MAX_DEPTH) reader.skip(wireType, number)
      else {
        const inner = reader.uint32() + reader.pos
        if (inner > end || !count(field.message, inner, depth + 1)) return false
      }
    }
    return true
  }
  try {
    return count(desc, bytes.length, 1)
  } catch {
    return true
  }
}

type Bytes = AsyncIterable<Uint8Array>

/** A pull-through of `source` whose `return` reaches it at once, also while a read is pending. */
function through(
  source: Bytes,
  take: (chunk: Uint8Array | undefined) => Uint8Array[],
): AsyncIterableIterator<Uint8Array> {
  const inner = source[Symbol.asyncIterator]()
  const ready: Uint8Array[] = []
  let over = false
  return {
    async next() {
      while (ready.length === 0 && !over) {
        const { done, value } = await inner.next()
        over = done === true
        ready.push(...take(over ? undefined : value))
      }
      const value = ready.shift()
      return value ? { done: false, value } : { done: true, value: undefined }
    },
    async return() {
      over = true
      await inner.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Hands enveloped messages on one by one, each found bearable; throws what `refuse` gives for one that is not. */
export function boundedEnvelopes(
  source: Bytes,
  desc: DescMessage,
  refuse: () => Error,
): AsyncIterableIterator<Uint8Array> {
  let held: Uint8Array[] = []
  let bytes = 0
  /** The reader behind judges what this does not: lengths past the limit, compression, the end of a stream. */
  let judged = false
  const rest = (): Uint8Array[] => {
    const all = held
    held = []
    bytes = 0
    return all
  }
  const whole = (): Uint8Array => {
    const all = held.length === 1 ? held[0]! : joined(held)
    held = [all]
    return all
  }
  return through(source, (chunk) => {
    if (chunk === undefined || judged) return chunk === undefined ? rest() : [chunk]
    held.push(chunk)
    bytes += chunk.length
    const out: Uint8Array[] = []
    while (bytes >= HEADER_BYTES) {
      const head = headOf(held[0]!.length >= HEADER_BYTES ? held[0]! : whole())
      if (head.flags !== 0 || head.length > LIMITS.agentMessageBytes) {
        judged = true
        return [...out, ...rest()]
      }
      const end = HEADER_BYTES + head.length
      if (bytes < end) break
      const all = whole()
      if (!isBearable(desc, all.subarray(HEADER_BYTES, end))) throw refuse()
      out.push(all.subarray(0, end))
      held = all.length > end ? [all.subarray(end)] : []
      bytes -= end
    }
    return out
  })
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function headOf(bytes: Uint8Array): { flags: number; length: number } {
  return { flags: bytes[0]!, length: new DataView(bytes.buffer, bytes.byteOffset + 1, 4).getUint32(0) }
}

/** The same for a body that is one message. */
export function boundedMessage(
  source: Bytes,
  desc: DescMessage,
  refuse: () => Error,
): AsyncIterableIterator<Uint8Array> {
  const held: Uint8Array[] = []
  let bytes = 0
  return through(source, (chunk) => {
    if (chunk !== undefined && bytes <= LIMITS.agentMessageBytes) {
      held.push(chunk)
      bytes += chunk.length
      return bytes <= LIMITS.agentMessageBytes ? [] : held.splice(0)
    }
    if (chunk !== undefined) return [chunk]
    const all = joined(held)
    if (!isBearable(desc, all)) throw refuse()
    return all.length > 0 ? [all] : []
  })
}
