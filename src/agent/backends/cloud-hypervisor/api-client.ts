import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { z } from 'zod'
import { cutUtf8 } from '../../../ipc/console-frames.ts'
import { Fault } from '../../../ipc/faults.ts'
import { around } from '../../os/failpoints.ts'

/** Longest answer read; vm.info of a VM with every device is far below it. */
const ANSWER_LIMIT = 1024 * 1024
/** How much of a refusal's body an error keeps. */
const REASON_BYTES = 600
const DEADLINE_MS = 5_000
/** Creating and booting touch disks and memory. */
const SLOW_MS = 30_000

const Ping = z.looseObject({ version: z.string(), pid: z.number().int().optional() })
const Info = z.looseObject({ state: z.string() })
export type Ping = z.infer<typeof Ping>

/** An answer that is no success. The disposition is permanent for 400: the same request would be refused again. */
export class ApiRefusal extends Fault {
  readonly status: number

  constructor(status: number, detail: string) {
    super('vmm/failed', status === 400 ? 'permanent' : 'transient', { detail })
    this.status = status
  }
}

export interface ApiClientOptions {
  /** A fresh connection; the client destroys it. */
  connect(): Promise<Socket>
  /** Shortens the deadlines, for a test. */
  deadlineMs?: number
}

/**
 * The REST API of one cloud-hypervisor. Every request has a connection of its own: one that is kept alive has been seen
 * to hang. Each method raises ApiRefusal for an answer that is no success, and `vmm/failed` (transient) for none.
 */
export class ApiClient {
  readonly #options: ApiClientOptions

  constructor(options: ApiClientOptions) {
    this.#options = options
  }

  async ping(signal?: AbortSignal): Promise<Ping> {
    return this.#read(Ping, 'vmm.ping', await this.#call('GET', 'vmm.ping', { signal }))
  }

  /** "Created", "Running", "Paused", …; undefined = there is no VM in this VMM. */
  async state(signal?: AbortSignal): Promise<string | undefined> {
    try {
      return this.#read(Info, 'vm.info', await this.#call('GET', 'vm.info', { signal })).state
    } catch (error) {
      if (error instanceof ApiRefusal && isNotCreated(error)) return undefined
      throw error
    }
  }

  async create(config: object, signal?: AbortSignal): Promise<void> {
    const body = JSON.stringify(config)
    await around('ch.create', () => this.#call('PUT', 'vm.create', { body, ms: SLOW_MS, signal }))
  }
  async boot(signal?: AbortSignal): Promise<void> {
    await around('ch.boot', () => this.#call('PUT', 'vm.boot', { ms: SLOW_MS, signal }))
  }
  async resume(signal?: AbortSignal): Promise<void> {
    await around('ch.resume', () => this.#call('PUT', 'vm.resume', { signal }))
  }
  /** Says nothing about whether the guest heard it. */
  async powerButton(signal?: AbortSignal): Promise<void> {
    await around('ch.power-button', () => this.#call('PUT', 'vm.power-button', { signal }))
  }
  /** Stops the guest as a pulled plug does; its disks are closed. */
  async shutdown(): Promise<void> {
    await around('ch.shutdown', () => this.#call('PUT', 'vm.shutdown'))
  }
  /** Ends the process; it may be gone before it answers. */
  async shutdownVmm(): Promise<void> {
    await around('ch.shutdown-vmm', () => this.#call('PUT', 'vmm.shutdown'))
  }

  #read<T>(schema: z.ZodType<T>, name: string, text: string): T {
    const parsed = schema.safeParse(parseJson(text))
    if (!parsed.success) throw failed(`GET ${name}: an answer nobody understands: ${reason(text)}`)
    return parsed.data
  }

  /** The body of a success. */
  async #call(
    method: 'GET' | 'PUT',
    name: string,
    { body, ms, signal }: { body?: string; ms?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const deadline = AbortSignal.timeout(this.#options.deadlineMs ?? ms ?? DEADLINE_MS)
    const ending = signal ? AbortSignal.any([deadline, signal]) : deadline
    try {
      ending.throwIfAborted()
      const answer = await this.#send(method, name, body, ending)
      const { text, whole } = await readBounded(answer)
      const status = answer.statusCode ?? 0
      if (status < 200 || status >= 300) throw refusal(`${method} ${name}`, status, answer.statusMessage, text)
      if (!whole) throw new Error(`an answer of more than ${ANSWER_LIMIT} bytes`)
      return text
    } catch (error) {
      if (error instanceof Fault) throw error
      if (signal?.aborted) throw signal.reason
      const problem = deadline.aborted ? 'no answer in time' : error instanceof Error ? error.message : String(error)
      throw failed(`${method} ${name}: ${problem}`, error)
    }
  }

  async #send(method: string, name: string, body: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const socket = await this.#options.connect()
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const asked = request({
      method,
      path: `/api/v1/${name}`,
      host: 'localhost',
      createConnection: () => socket,
      headers,
      signal,
    })
    asked.on('response', resolve)
    asked.on('error', (error) => {
      socket.destroy()
      reject(error)
    })
    asked.end(body)
    return await promise
  }
}

/** Before v53 a missing VM was 500 with its reason in the body. */
const isNotCreated = ({ status, params }: ApiRefusal): boolean =>
  status === 404 || (status === 500 && /not created|VmNotCreated|VmMissingConfig/i.test(params['detail'] ?? ''))

const failed = (detail: string, cause?: unknown) =>
  new Fault('vmm/failed', 'transient', { detail: cutUtf8(detail, REASON_BYTES) }, { cause })

function refusal(asked: string, status: number, words: string | undefined, body: string): ApiRefusal {
  const line = `${asked}: ${status} ${cutUtf8(words ?? '', 60)}`.trimEnd()
  const why = reason(body)
  return new ApiRefusal(status, why === '' ? line : `${line}: ${why}`)
}

/** The body of a refusal as one line: v53 sends an error chain as a JSON array, older ones plain text, some nothing. */
function reason(body: string): string {
  const parsed = parseJson(body)
  const chain = Array.isArray(parsed) ? parsed.map(String) : typeof parsed === 'string' ? [parsed] : [body]
  return cutUtf8(
    chain
      .map((part) => part.trim())
      .filter(Boolean)
      .join(': '),
    REASON_BYTES,
  )
}

async function readBounded(answer: IncomingMessage): Promise<{ text: string; whole: boolean }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, ANSWER_LIMIT - size))
    size += chunk.length
    // Leaving the loop ends the connection.
    if (size > ANSWER_LIMIT) break
  }
  return { text: Buffer.concat(chunks).toString('utf8'), whole: size <= ANSWER_LIMIT }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
