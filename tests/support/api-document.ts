import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export const PACKAGE = 'eitri.fleet.v1.'

export interface Schema {
  $ref?: string
  type?: string
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
}
interface Operation {
  requestBody: { content: Record<string, { schema: Schema }> }
  responses: { 200: { content: Record<string, { schema: Schema }> } }
  'x-server-stream'?: boolean
}

/** The committed description of the fleet API. */
export const apiDocument = JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8')) as {
  paths: Record<string, { post: Operation }>
  components: { schemas: Record<string, Schema> }
}

/** `VmService/GetVm`, …: every call with one request and one answer. */
export const unaryMethods = Object.entries(apiDocument.paths)
  .filter(([, { post }]) => !post['x-server-stream'])
  .map(([path]) => path.slice(1 + PACKAGE.length))

export const requestSchema = (method: string): Schema =>
  apiDocument.paths[`/${PACKAGE}${method}`]?.post.requestBody.content['application/json']?.schema ?? {}

export const resolved = (schema: Schema): Schema =>
  schema.$ref ? (apiDocument.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema(apiDocument, 'api')

/** What the document has against an answer of a method; null = nothing. */
export function problemsOf(method: string, answer: unknown): string | null {
  const schema = apiDocument.paths[`/${PACKAGE}${method}`]?.post.responses[200].content['application/json']?.schema
  if (!schema) return `the document does not know ${method}`
  const validate = ajv.compile({ $ref: `api${schema.$ref}` })
  return validate(answer) ? null : ajv.errorsText(validate.errors)
}
