import type { Socket } from 'node:net'
import { z } from 'zod'
import { Fault } from '../../../ipc/faults.ts'

/** Longest line read; QEMU's answers to what is asked here are far below it. */
const LINE_LIMIT = 1024 * 1024
const GREETING_MS = 2_000
const COMMAND_MS = 5_000
/** Commands waiting for an answer at one time. */
const IN_FLIGHT_LIMIT = 32

const Message = z.looseObject({
  QMP: z.unknown().optional(),
  event: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  id: z.number().optional(),
  return: z.unknown().optional(),
  error: z.object({ class: z.string(), desc: z.string() }).optional(),
})

export interface QmpEvent {
  event: string
  data: Record<string, unknown>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Fault): void
}

const failed = (detail: string, disposition: 'transient' | 'bug' = 'transient') =>
  new Fault('vmm/failed', disposition, { detail })

/** One QEMU monitor. QEMU serves one client at a time: whoever opens it is the only one until close. */
export class QmpClient {
  readonly #socket: Socket
  readonly #waiting = new Map<number, Waiting>()
  readonly #onEvent: (event: QmpEvent) => void
  readonly #greeting = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #text = ''
  #nextId = 1
  #open = true

  private constructor(socket: Socket, onEvent: (event: QmpEvent) => void) {
    this.#socket = socket
    this.#onEvent = onEvent
    this.#greeting.promise.catch(() => {})
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', () => {})
    socket.on('close', () => this.#end())
  }

  /** Takes the socket over. Raises `vmm/failed` when QEMU does not greet within 2 s: it is hung, or serves another. */
  static async open(socket: Socket, onEvent: (event: QmpEvent) => void): Promise<QmpClient> {
    const client = new QmpClient(socket, onEvent)
    try {
      await within(client.#greeting.promise, GREETING_MS, 'it does not answer on its monitor')
      await client.execute('qmp_capabilities')
      return client
    } catch (error) {
      client.close()
      throw error
    }
  }

  /** Resolves when the monitor is gone, for whatever reason. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /** Raises `vmm/failed` for an error answer, no answer within 5 s, or a closed monitor. */
  async execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (!this.#open) throw failed('its monitor is closed')
    if (this.#waiting.size >= IN_FLIGHT_LIMIT) throw failed('its monitor is too busy')
    const id = this.#nextId++
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.set(id, answer)
    this.#socket.write(`${JSON.stringify({ execute: command, id, ...(args ? { arguments: args } : {}) })}\n`)
    try {
      return await within(answer.promise, COMMAND_MS, `no answer to ${command}`)
    } finally {
      this.#waiting.delete(id)
    }
  }

  close(): void {
    this.#socket.destroy()
    this.#end()
  }

  #read(text: string): void {
    this.#text += text
    for (let end = this.#text.indexOf('\n'); end >= 0; end = this.#text.indexOf('\n')) {
      const line = this.#text.slice(0, end).trim()
      this.#text = this.#text.slice(end + 1)
      if (line !== '') this.#take(line)
    }
    if (this.#text.length > LINE_LIMIT) this.close()
  }

  #take(line: string): void {
    const message = parseLine(line)
    const waiting = this.#waiting.get(message?.id ?? 0)
    if (!message) this.close()
    else if (message.QMP !== undefined) this.#greeting.resolve()
    else if (message.event !== undefined) this.#onEvent({ event: message.event, data: message.data ?? {} })
    else if (message.error) waiting?.reject(failed(message.error.desc))
    else waiting?.resolve(message.return)
  }

  #end(): void {
    if (!this.#open) return
    this.#open = false
    const fault = failed('its monitor closed')
    this.#greeting.reject(fault)
    for (const { reject } of this.#waiting.values()) reject(fault)
    this.#closed.resolve()
  }
}

function parseLine(line: string): z.infer<typeof Message> | undefined {
  try {
    return Message.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

function within<T>(promise: Promise<T>, ms: number, detail: string): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(failed(detail)), ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
