import type { Socket } from 'node:net'
import { z } from 'zod'
import { Fault } from '../../../ipc/faults.ts'

/** Longest line read; QEMU's answers to what is asked here are far below it. */
const LINE_LIMIT = 1024 * 1024
/** Commands without an answer at one time, those past their deadline included. */
const IN_FLIGHT_LIMIT = 32

/** How long QEMU may take, ms. */
export interface QmpDeadlines {
  greetingMs: number
  commandMs: number
}

const DEADLINES: QmpDeadlines = { greetingMs: 2_000, commandMs: 5_000 }

const Message = z.looseObject({
  QMP: z.unknown().optional(),
  event: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  id: z.unknown().optional(),
  return: z.unknown().optional(),
  error: z.object({ class: z.string(), desc: z.string() }).optional(),
})

export interface QmpEvent {
  event: string
  data: Record<string, unknown>
}

export interface QmpListener {
  event(event: QmpEvent): void
  /** Any whole message came: QEMU's main loop runs. */
  heard?(): void
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Fault): void
}

const failed = (detail: string) => new Fault('vmm/failed', 'transient', { detail })

/**
 * One QEMU monitor. QEMU serves one client at a time: whoever opens it is the only one until close. What breaks the
 * protocol closes it, for the next client to start afresh.
 */
export class QmpClient {
  readonly #socket: Socket
  readonly #waiting = new Map<number, Waiting>()
  readonly #overdue = new Set<number>()
  readonly #listener: QmpListener
  readonly #deadlines: QmpDeadlines
  readonly #greeting = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<string>()
  #greeted = false
  #text = ''
  #nextId = 1
  #open = true

  private constructor(socket: Socket, listener: QmpListener, deadlines: QmpDeadlines) {
    this.#socket = socket
    this.#listener = listener
    this.#deadlines = deadlines
    this.#greeting.promise.catch(() => {})
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', () => {})
    socket.on('close', () => this.#end(''))
  }

  /** Takes the socket over. Raises `vmm/failed` when QEMU does not greet within 2 s: it is hung, or serves another. */
  static async open(socket: Socket, listener: QmpListener, deadlines = DEADLINES): Promise<QmpClient> {
    const client = new QmpClient(socket, listener, deadlines)
    try {
      await within(client.#greeting.promise, deadlines.greetingMs, 'it does not answer on its monitor')
      await client.execute('qmp_capabilities')
      return client
    } catch (error) {
      client.close()
      throw error
    }
  }

  /** Resolves when the monitor is gone: with what broke the protocol, '' for any other end. */
  get closed(): Promise<string> {
    return this.#closed.promise
  }

  /** Whether an answer is owed since before its deadline. */
  get owed(): boolean {
    return this.#overdue.size > 0
  }

  /** Raises `vmm/failed` for an error answer, no answer within 5 s, or a closed monitor. */
  async execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (!this.#open) throw failed('its monitor is closed')
    if (this.#waiting.size + this.#overdue.size >= IN_FLIGHT_LIMIT) throw failed('its monitor is too busy')
    const id = this.#nextId++
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.set(id, answer)
    this.#socket.write(`${JSON.stringify({ execute: command, id, ...(args ? { arguments: args } : {}) })}\n`)
    try {
      return await within(answer.promise, this.#deadlines.commandMs, `no answer to ${command}`)
    } finally {
      if (this.#waiting.delete(id)) this.#overdue.add(id)
    }
  }

  close(): void {
    this.#end('')
  }

  #read(text: string): void {
    const lines = (this.#text + text).split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) if (this.#open && line.trim() !== '') this.#take(line)
    if (this.#text.length > LINE_LIMIT) this.#end('a line longer than 1 MiB')
  }

  #take(line: string): void {
    const message = line.length > LINE_LIMIT ? undefined : parseLine(line)
    const broken = !message ? 'a line that is no message' : message.QMP && this.#greeted ? 'a second greeting' : ''
    if (!message || broken !== '') {
      this.#end(broken)
      return
    }
    this.#listener.heard?.()
    if (message.QMP !== undefined) {
      this.#greeted = true
      this.#greeting.resolve()
    } else if (message.event !== undefined) this.#listener.event({ event: message.event, data: message.data ?? {} })
    else if (typeof message.id === 'number') this.#answer(message.id, message)
  }

  /** An id nobody waits for is an answer past its deadline, or one given twice. */
  #answer(id: number, message: z.infer<typeof Message>): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    this.#overdue.delete(id)
    if (message.error) waiting?.reject(failed(message.error.desc))
    else waiting?.resolve(message.return)
  }

  #end(broken: string): void {
    if (!this.#open) return
    this.#open = false
    this.#text = ''
    this.#socket.destroy()
    const fault = failed('its monitor closed')
    this.#greeting.reject(fault)
    for (const { reject } of this.#waiting.values()) reject(fault)
    this.#waiting.clear()
    this.#closed.resolve(broken)
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
