import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  ScalarType,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { root } from './root.ts'

const TARGET = 'docs/openapi.json'
const PACKAGE = 'eitri.fleet.v1'
/** Numbers of descriptor.proto: where a file keeps its messages, services, fields and methods. */
const PATHS = { message: 4, service: 6, field: 2, method: 2 }

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of the fleet API, made from the contracts: what the server writes as JSON, field by field. */
export function openApi(version: string): string {
  const image = execFileSync(join(root, 'node_modules/.bin/buf'), ['build', '-o', '-'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image))
  const files = [...registry.files].filter((file) => file.proto.package === PACKAGE)
  const methods = files.flatMap((file) => file.services).flatMap((service) => service.methods)
  const answered = reachable(methods.map((method) => method.output))
  const named = new Map(methods.flatMap((m) => [m.input, m.output]).map((m) => [m.typeName, m]))
  const all = new Map([...reachable([...named.values()])].map((message) => [message.typeName, message]))
  const names = [...all.keys()].filter((name) => name.startsWith(`${PACKAGE}.`)).sort()
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Eitri fleet API',
      version,
      description:
        'Every call is POST with a JSON object, over the unix socket of the control plane. Unset optional fields are left out: absent is never zero and never empty. 64-bit numbers are strings, times RFC 3339 UTC.',
    },
    servers: [{ url: 'http://localhost', description: "curl --unix-socket <the control plane's socket>" }],
    paths: Object.fromEntries(
      methods.map((m) => [`/${m.parent.typeName}/${m.name}`, { post: operation(m) }] as const).sort(byKey),
    ),
    components: {
      schemas: Object.fromEntries([
        ...names.map((name) => [short(name), schemaOf(all.get(name) as DescMessage, answered)] as const),
        ['Error', ERROR] as const,
      ]),
    },
  }
  return `${JSON.stringify(document, null, 1)}\n`
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)
const short = (typeName: string) => typeName.slice(PACKAGE.length + 1)
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const ERROR = {
  type: 'object',
  required: ['code'],
  properties: {
    code: { type: 'string', description: 'not_found, invalid_argument, already_exists, failed_precondition, …' },
    message: { type: 'string', description: 'What, effect and next move in one line.' },
    details: { type: 'array', items: { type: 'object' }, description: 'eitri.fleet.v1.Fault, base64 in `value`.' },
  },
}

function operation(method: DescMethod): Json {
  const streams = method.methodKind !== 'unary'
  const type = streams ? 'application/connect+json' : 'application/json'
  const text = commentOf(method.parent.file, [PATHS.service, indexOf(method.parent), PATHS.method, indexOf(method)])
  return {
    operationId: `${method.parent.name}_${method.name}`,
    tags: [method.parent.name],
    ...(text === '' ? {} : { description: text }),
    ...(streams ? { 'x-server-stream': true } : {}),
    requestBody: { required: true, content: { [type]: { schema: ref(short(method.input.typeName)) } } },
    responses: {
      200: { description: 'Done.', content: { [type]: { schema: ref(short(method.output.typeName)) } } },
      default: { description: 'A fault.', content: { 'application/json': { schema: ref('Error') } } },
    },
  }
}

/** A message an answer can hold: its plain fields are always there. In a request every field may be left out. */
function schemaOf(message: DescMessage, answered: ReadonlySet<DescMessage>): Json {
  const path = [PATHS.message, indexOf(message)]
  const fields = message.fields.map((field, at) => {
    const text = commentOf(message.file, [...path, PATHS.field, at])
    return [field.name, { ...jsonOf(field), ...(text === '' ? {} : { description: text }) }] as const
  })
  const required = answered.has(message) ? message.fields.filter(alwaysThere).map((field) => field.name) : []
  const text = commentOf(message.file, path)
  return {
    type: 'object',
    ...(text === '' ? {} : { description: text }),
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(fields),
    additionalProperties: false,
  }
}

const alwaysThere = (field: DescField) =>
  field.fieldKind !== 'message' && field.oneof === undefined && !field.proto.proto3Optional

function jsonOf(field: DescField): Json {
  switch (field.fieldKind) {
    case 'list':
      return { type: 'array', items: field.listKind === 'message' ? messageOf(field.message) : scalarOf(field.scalar) }
    case 'map':
      return {
        type: 'object',
        additionalProperties: field.mapKind === 'message' ? messageOf(field.message) : scalarOf(field.scalar),
      }
    case 'message':
      return messageOf(field.message)
    default:
      return scalarOf(field.scalar)
  }
}

const messageOf = (message: DescMessage): Json =>
  message.typeName === 'google.protobuf.Timestamp'
    ? { type: 'string', format: 'date-time' }
    : ref(short(message.typeName))

function scalarOf(type: ScalarType | undefined): Json {
  switch (type) {
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.STRING:
      return { type: 'string' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: 'number' }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.UINT64:
      return { type: 'string', pattern: '^-?[0-9]{1,20}$' }
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.UINT32:
      return { type: 'integer' }
    default:
      throw new Error(`no JSON type for the scalar ${type}`)
  }
}

function reachable(from: readonly DescMessage[]): Set<DescMessage> {
  const seen = new Set<DescMessage>()
  const visit = (message: DescMessage) => {
    if (seen.has(message)) return
    seen.add(message)
    for (const field of message.fields) if (field.message) visit(field.message)
  }
  for (const message of from) visit(message)
  return seen
}

function indexOf(desc: DescMessage | DescMethod | DescMethod['parent']): number {
  if (desc.kind === 'rpc') return desc.parent.methods.indexOf(desc)
  return desc.kind === 'service' ? desc.file.services.indexOf(desc) : desc.file.messages.indexOf(desc)
}

function commentOf(file: DescFile, path: readonly number[]): string {
  const at = path.join('.')
  const found = file.proto.sourceCodeInfo?.location.find((location) => location.path.join('.') === at)
  return (found?.leadingComments ?? '').trim().replace(/\s*\n\s*/g, ' ')
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const made = openApi(version)
  const file = join(root, TARGET)
  if (process.argv.includes('--check')) {
    const current = readFileSync(file, 'utf8') === made
    if (!current) console.error(`${TARGET} is not what "npm run gen" makes of the contracts`)
    process.exitCode = current ? 0 : 1
  } else writeFileSync(file, made)
}
