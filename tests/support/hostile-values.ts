import { create, type DescField, type DescMessage, type Message, ScalarType, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'

/** Names that a shell, a terminal, a file system, a log or a parser would take for more than a name. */
export const HOSTILE_NAMES = [
  '',
  ' ',
  '$(touch pwned)',
  '`touch pwned`',
  '; touch pwned #',
  '| touch pwned',
  '&& touch pwned',
  "' touch pwned '",
  '" touch pwned "',
  '../../../../etc/passwd',
  '/etc/passwd',
  '-rf',
  '--help',
  '-oProxyCommand=touch pwned',
  'a\nb',
  'x\n#cloud-config\nruncmd: [touch pwned]',
  'a\r\nb',
  'a\0b',
  'a,b=c',
  '%s%n',
  '$HOME',
  '\u202egnp.exe',
  '\u200b',
  '\x1b[2J\x1b]0;pwned\x07',
  'ünïcödé',
  '\ud800',
  '__proto__',
  'constructor',
  'x'.repeat(300),
] as const

const text = fc.oneof(fc.constantFrom(...HOSTILE_NAMES), fc.string({ unit: 'binary', maxLength: 40 }))
const bits = fc.oneof(
  fc.constantFrom(0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
)

/** Any message of the type, made of values its senders would never choose; lone surrogates come as they encode. */
export function anyMessage(desc: DescMessage, depth = 4): fc.Arbitrary<Message> {
  const oneofs = new Map(desc.oneofs.map((oneof) => [oneof.localName, fc.constantFrom(...oneof.fields)]))
  const plain = desc.fields.filter((field) => !field.oneof && (depth > 0 || !field.message))
  const fields = plain.map((field) =>
    fc.option(arbitraryOf(field, depth), { nil: undefined, freq: 3 }).map((value) => [field.localName, value] as const),
  )
  const choices = [...oneofs].map(([name, choice]) =>
    choice.chain((field) =>
      arbitraryOf(field, depth).map((value) => [name, { case: field.localName, value }] as const),
    ),
  )
  return fc
    .tuple(...fields, ...(depth > 0 ? choices : []))
    .map((entries) => create(desc, Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as never))
}

function arbitraryOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'message':
      return anyMessage(field.message, depth - 1)
    case 'list':
      return fc.array(field.message ? anyMessage(field.message, depth - 1) : scalarOf(field.scalar), { maxLength: 3 })
    case 'map':
      return fc.constant({})
    default:
      return scalarOf(field.scalar)
  }
}

function scalarOf(scalar: ScalarType | undefined): fc.Arbitrary<unknown> {
  switch (scalar) {
    case ScalarType.STRING:
      return text.map((t) => t.toWellFormed())
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 64 })
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0, 1e308, -1)
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return bits.map((n) => BigInt.asIntN(64, n))
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return bits
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return bits.map((n) => Number(BigInt.asIntN(32, n)))
    default:
      return bits.map((n) => Number(BigInt.asUintN(32, n)))
  }
}

type Mutation = { what: 'flip' | 'cut' | 'repeat' | 'insert'; at: number; bytes: Uint8Array }

const mutation: fc.Arbitrary<Mutation> = fc.record({
  what: fc.constantFrom('flip', 'cut', 'repeat', 'insert'),
  at: fc.nat(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
})

function mutated(bytes: Uint8Array, { what, at, bytes: other }: Mutation): Uint8Array {
  const place = bytes.length === 0 ? 0 : at % bytes.length
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
  switch (what) {
    case 'cut':
      return before
    case 'repeat':
      return Buffer.concat([bytes, after])
    case 'insert':
      return Buffer.concat([before, other, after])
    case 'flip':
      return Buffer.concat([before, after.map((byte, i) => (i < other.length ? byte ^ other[i]! : byte))])
  }
}

/** Bytes in place of a message of the type: whole, broken in a few places, or none of it at all. */
export function hostileBytes(messages: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const broken = fc
    .tuple(messages, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([bytes, changes]) => changes.reduce(mutated, bytes))
  return fc.oneof(
    { weight: 3, arbitrary: messages },
    { weight: 4, arbitrary: broken },
    fc.uint8Array({ maxLength: 200 }),
  )
}

export const anyBytes = (desc: DescMessage): fc.Arbitrary<Uint8Array> =>
  hostileBytes(anyMessage(desc).map((message) => toBinary(desc, message)))
