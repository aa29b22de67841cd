import fc from 'fast-check'
import { PACKAGE, problemsOf, requestSchema, resolved, type Schema } from './api-document.ts'
import { rawCall } from './raw-api.ts'

/** Calls whose good request would build an image or start an agent on this machine: they get broken ones alone. */
const HEAVY = new Set(['ImageService/BuildTinyImage', 'ImageService/BuildDebianImage'])
/** Answers of a server that lost its way. */
const LOST = new Set(['internal', 'unknown', 'data_loss'])

/** A request that no careful client would send, mostly shaped as the contract says, with what it must not hold. */
export function badRequest(method: string, known: readonly string[]): fc.Arbitrary<string> {
  const shaped = jsonOf(requestSchema(method), known).map((value) => JSON.stringify(value))
  const broken = fc.oneof(
    fc.constantFrom('', '{', '[]', 'null', '7', '"text"', '{"a":', '\u0000', '{"__proto__":{"vm":"web"}}'),
    fc.nat({ max: 2_000 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    fc.json(),
    fc.string({ maxLength: 200 }),
    fc.constant(`{"vm":"${'x'.repeat(300_000)}"}`),
  )
  return HEAVY.has(method)
    ? broken.filter((text) => text !== '' && !/^\s*\{/.test(text))
    : fc.oneof({ weight: 4, arbitrary: shaped }, broken)
}

const HOSTILE_TEXT = [
  ...[
    '',
    ' ',
    '.',
    '..',
    '../../etc/passwd',
    '/etc/passwd',
    '/nonexistent/x',
    '-rf',
    '--',
    'a b',
    'ü',
    '\u202e',
    '\ud800',
  ],
  ...[
    "'; DROP TABLE vms; --",
    '%00',
    '\u0000',
    'WEB',
    'web.',
    'x'.repeat(64),
    'x'.repeat(5_000),
    'constructor',
    '__proto__',
  ],
  ...[
    '127.0.0.1:1',
    '[::1]:1',
    'SHA256:AAAA',
    'ssh-ed25519 AAAA',
    'running',
    'lan',
    'disk',
    'default',
    'system',
    'user',
  ],
]

/** Right and wrong values of a field, in good measure. */
function jsonOf(schema: Schema, known: readonly string[], depth = 0): fc.Arbitrary<unknown> {
  const right = rightOf(resolved(schema), known, depth)
  return fc.oneof(
    { weight: 5, arbitrary: right },
    fc.constantFrom<unknown>(null, true, -1, 1.5, 1e300, 'x', [], {}, [[]]),
  )
}

function rightOf(schema: Schema, known: readonly string[], depth: number): fc.Arbitrary<unknown> {
  if (schema.properties) {
    if (depth > 4) return fc.constant({})
    const fields = Object.entries(schema.properties).filter(([name]) => name !== 'local')
    const record = Object.fromEntries(fields.map(([name, field]) => [name, jsonOf(field, known, depth + 1)]))
    return fc.record(record, { requiredKeys: [] })
  }
  switch (schema.type) {
    case 'string':
      return fc.constantFrom(...known, ...HOSTILE_TEXT, '0', '18446744073709551615', '18446744073709551616')
    case 'integer':
      return fc.constantFrom(0, 1, 22, 65_535, 65_536, 4_294_967_295, 4_294_967_296, -1, '7')
    case 'number':
      return fc.double()
    case 'boolean':
      return fc.constantFrom<unknown>(true, false, 'true', 1)
    case 'array':
      return fc.array(jsonOf(schema.items ?? {}, known, depth + 1), { maxLength: 40 })
    default: {
      const of = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {}
      return fc.dictionary(fc.constantFrom('a', 'role', '__proto__', '', 'x'.repeat(100)), jsonOf(of, known, depth + 1))
    }
  }
}

/** Why an answer is wrong: it lost its way, or it is not what the document says. Undefined = it is in order. */
export async function wrongAnswer(socketPath: string, method: string, body: string): Promise<string | undefined> {
  const { status, body: bytes } = await rawCall(socketPath, `${PACKAGE}${method}`, body)
  let answer: { code?: string; message?: string }
  try {
    answer = JSON.parse(bytes.toString())
  } catch {
    return `${status} and no JSON: ${bytes.toString().slice(0, 200)}`
  }
  if (status === 200) return problemsOf(method, answer) ?? undefined
  if (answer.code === undefined || LOST.has(answer.code)) return `${status} ${JSON.stringify(answer).slice(0, 500)}`
  return answer.message ? undefined : `${status} without a word`
}
