import { EventEmitter, once } from 'node:events'
import WebSocket from 'ws'
import {
  type ConsoleFrame,
  decodeConsoleFrame,
  encodeConsoleFrame,
  type ShellPlace,
} from '../../src/ipc/console-frames.ts'

const ID = 1

/** A window with one shell: what it prints, and why it ended. */
export class ShellWindow implements AsyncDisposable {
  text = ''
  opened: Extract<ConsoleFrame, { type: 'opened' }> | undefined
  closedBecause: string | undefined
  readonly #socket: WebSocket
  readonly #events = new EventEmitter()
  #acked = 0n

  constructor(socketPath: string, place: ShellPlace, headers: Record<string, string> = {}) {
    this.#socket = new WebSocket(`ws+unix:${socketPath}:/console`, { headers })
    this.#socket.on('error', () => {})
    this.#socket.on('open', () => this.#send({ type: 'open-shell', id: ID, ...place, rows: 33, cols: 101 }))
    this.#socket.on('message', (data: Buffer) => {
      const frame = decodeConsoleFrame(data)
      if (frame.type === 'opened') this.opened = frame
      else if (frame.type === 'close') this.closedBecause = frame.reason
      else if (frame.type === 'data') {
        this.text += Buffer.from(frame.bytes).toString('utf8')
        this.#acked = frame.offset + BigInt(frame.bytes.length)
        this.#send({ type: 'ack', id: ID, offset: this.#acked })
      }
      this.#events.emit('change')
    })
  }

  type(text: string): void {
    this.#send({ type: 'input', id: ID, bytes: Buffer.from(text) })
  }

  resize(rows: number, cols: number): void {
    this.#send({ type: 'resize', id: ID, rows, cols })
  }

  /** Waits until the text matches. */
  async says(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      if (this.closedBecause !== undefined) throw new Error(`ended: ${this.closedBecause}; it said ${this.text}`)
      await this.#change()
    }
  }

  async ends(): Promise<string> {
    while (this.closedBecause === undefined) await this.#change()
    return this.closedBecause
  }

  async #change(): Promise<void> {
    await once(this.#events, 'change', { signal: AbortSignal.timeout(20_000) }).catch((cause: unknown) => {
      throw new Error(`nothing more came; it said ${this.text}`, { cause })
    })
  }

  #send(frame: ConsoleFrame): void {
    this.#socket.send(encodeConsoleFrame(frame))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate()
  }
}
