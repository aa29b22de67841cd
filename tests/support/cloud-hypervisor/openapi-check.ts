import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Schema {
  $ref?: string
  type?: string
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
}

interface Operation {
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, unknown>
}

interface Document {
  paths: Record<string, Partial<Record<'get' | 'put', Operation>>>
  components: { schemas: Record<string, Schema> }
}

/** What the published contract says of one request; `problem` '' = nothing against it. */
export interface Verdict {
  known: boolean
  problem: string
}

/** Checks requests against the OpenAPI document of cloud-hypervisor, stricter than it in one thing: no unknown field. */
export class OpenApiCheck {
  readonly #document: Document

  constructor(path: string) {
    this.#document = parse(readFileSync(path, 'utf8')) as Document
  }

  request(method: string, endpoint: string, body: string): Verdict {
    const operation = this.#document.paths[`/${endpoint}`]?.[method.toLowerCase() as 'get' | 'put']
    if (!operation) return { known: false, problem: `no ${method} ${endpoint}` }
    const schema = operation.requestBody?.content['application/json'].schema
    return { known: true, problem: this.#body(schema, body) }
  }

  /** For what the peer itself sends. */
  value(schema: string, value: unknown): string {
    return this.#value({ $ref: `#/components/schemas/${schema}` }, value, schema)
  }

  #body(schema: Schema | undefined, body: string): string {
    if (!schema) return body === '' ? '' : 'a body where none belongs'
    if (body === '') return 'no body'
    let value: unknown
    try {
      value = JSON.parse(body)
    } catch {
      return 'the body is no JSON'
    }
    return this.#value(schema, value, 'body')
  }

  #value(given: Schema, value: unknown, at: string): string {
    const schema = this.#resolve(given)
    if (schema.enum && !schema.enum.includes(value)) return `${at}: ${JSON.stringify(value)} is not one of its values`
    switch (schema.type) {
      case 'object':
        return this.#object(schema, value, at)
      case 'array':
        if (!Array.isArray(value)) return `${at}: no array`
        return first(value.map((item, i) => () => this.#value(schema.items ?? {}, item, `${at}[${i}]`)))
      case 'string':
        if (typeof value !== 'string') return `${at}: no string`
        return value.length < (schema.minLength ?? 0) ? `${at}: too short` : ''
      case 'integer':
        if (!Number.isSafeInteger(value)) return `${at}: no whole number`
        if ((value as number) < (schema.minimum ?? Number.NEGATIVE_INFINITY)) return `${at}: too small`
        return (value as number) > (schema.maximum ?? Number.POSITIVE_INFINITY) ? `${at}: too large` : ''
      case 'boolean':
        return typeof value === 'boolean' ? '' : `${at}: neither true nor false`
      default:
        return ''
    }
  }

  #object(schema: Schema, value: unknown, at: string): string {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${at}: no object`
    const fields = Object.entries(value)
    const missing = schema.required?.find((name) => !(name in value))
    if (missing !== undefined) return `${at}: missing field ${missing}`
    if (!schema.properties && !schema.additionalProperties) return ''
    return first(
      fields.map(([name, field]) => () => {
        const inner = schema.properties?.[name] ?? schema.additionalProperties
        return inner ? this.#value(inner, field, `${at}.${name}`) : `${at}: unknown field ${name}`
      }),
    )
  }

  #resolve(schema: Schema): Schema {
    const name = schema.$ref?.split('/').at(-1)
    return name === undefined ? schema : this.#document.components.schemas[name]!
  }
}

/** The first problem there is; the rest is not looked at. */
function first(checks: (() => string)[]): string {
  for (const check of checks) {
    const problem = check()
    if (problem !== '') return problem
  }
  return ''
}
