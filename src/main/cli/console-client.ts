import WebSocket from 'ws'
import { fullJitterMs } from '../../ipc/base/backoff.ts'
import {
  type ConsoleFrame,
  type ConsoleLink,
  decodeConsoleFrame,
  encodeConsoleFrame,
} from '../../ipc/console-frames.ts'
import { Fault } from '../../ipc/faults.ts'
import { LIMITS } from '../../ipc/units.ts'
import { type AskAs, askingHeaders } from '../fleet-client.ts'

type Opened = Extract<ConsoleFrame, { type: 'opened' }>

export interface ConsoleOptions {
  socketPath: string
  /** Absent = something that does not say what it is. */
  askAs?: AskAs
  vm: string
  /** Absent = `tailBytes` before the end. */
  from?: bigint
  tailBytes?: number
  readOnly: boolean
  signal: AbortSignal
  /** Shows the bytes; they are acked once it resolves. A rejection ends the console with it. */
  data(bytes: Uint8Array, offset: bigint): Promise<void>
  opened?(frame: Opened): void
  skipped?(from: bigint, to: bigint): void
  state?(link: ConsoleLink, detail: string): void
  keyboard?(holder: boolean): void
}

const ID = 1
const FRAME_BYTES = 5 + 8 + LIMITS.consoleChunkBytes
/** How long a control plane that was there may be away, ms. */
const AWAY_MS = 60_000

/** One console over the control plane's socket; a control plane that restarts is found again and read on from where it stood. */
export class ConsoleClient {
  /** Resolves at `close`; rejects with why it ended otherwise, or with the signal's reason. */
  readonly done: Promise<void>
  readonly #options: ConsoleOptions
  readonly #ended = Promise.withResolvers<void>()
  readonly #waiting = new Set<() => void>()
  readonly #abort: () => void
  #socket: WebSocket
  #next: bigint | undefined
  #acked = 0n
  #shown: Promise<void> = Promise.resolve()
  #over = false
  #link: ConsoleLink = 'reconnecting'
  #holder = false
  #wasThere = false
  #awaySince: number | undefined
  #attempt = 0
  #retry: NodeJS.Timeout | undefined

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.done = this.#ended.promise
    // Whoever types may learn of the end before anybody looks at `done`.
    this.done.catch(() => {})
    this.#next = options.from
    this.#socket = this.#connect()
    this.#abort = () => this.#end(options.signal.reason)
    if (options.signal.aborted) this.#abort()
    else options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Waits until the guest can be typed to, and until the socket took the bytes. */
  async type(bytes: Uint8Array): Promise<void> {
    while (!this.#over && !(this.#link !== 'reconnecting' && this.#holder))
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    if (this.#over) return
    const frame = encodeConsoleFrame({ type: 'input', id: ID, bytes })
    await new Promise<void>((resolve) => this.#socket.send(frame, () => resolve()))
  }

  takeKeyboard(): void {
    this.#send({ type: 'take-keyboard', id: ID })
  }

  close(): void {
    this.#end()
  }

  #connect(): WebSocket {
    const { socketPath, askAs, vm, tailBytes, readOnly } = this.#options
    const socket = new WebSocket(`ws+unix:${socketPath}:/console`, {
      headers: askAs ? askingHeaders(askAs) : {},
      perMessageDeflate: false,
      maxPayload: FRAME_BYTES,
    })
    socket.on('open', () => {
      this.#wasThere = true
      this.#awaySince = undefined
      this.#attempt = 0
      const place = this.#next === undefined ? { tailBytes: tailBytes ?? 0 } : { from: this.#next }
      this.#send({ type: 'open', id: ID, vm, ...place, ...(readOnly ? { readOnly } : {}) })
    })
    socket.on('message', (data: Buffer) => {
      if (this.#over) return
      try {
        this.#take(decodeConsoleFrame(data))
      } catch (error) {
        this.#end(error)
      }
    })
    // 'close' follows, and it decides.
    socket.on('error', () => {})
    socket.on('close', () => this.#away())
    this.#socket = socket
    return socket
  }

  #away(): void {
    if (this.#over) return
    this.#link = 'reconnecting'
    this.#awaySince ??= performance.now()
    if (!this.#wasThere || performance.now() - this.#awaySince > AWAY_MS) {
      this.#end(new Fault('app/not-running', 'transient', { socket: this.#options.socketPath }))
      return
    }
    if (this.#attempt === 0) this.#options.state?.('reconnecting', 'the control plane went away')
    this.#retry = setTimeout(() => this.#connect(), fullJitterMs(this.#attempt++, { floorMs: 100, capMs: 2_000 }))
  }

  #take(frame: ConsoleFrame): void {
    const { opened, skipped, state, keyboard } = this.#options
    if (frame.type === 'data') this.#show(frame.offset, frame.bytes)
    else if (frame.type === 'opened') {
      this.#next = frame.start
      this.#acked = frame.start
      opened?.(frame)
    } else if (frame.type === 'skipped') {
      this.#next = frame.to
      skipped?.(frame.from, frame.to)
    } else if (frame.type === 'state') {
      this.#link = frame.link
      state?.(frame.link, frame.detail)
      this.#wake()
    } else if (frame.type === 'keyboard') {
      this.#holder = frame.holder
      keyboard?.(frame.holder)
      this.#wake()
    } else if (frame.type === 'close') this.#end(consoleUnavailable(frame.reason))
  }

  #show(offset: bigint, bytes: Uint8Array): void {
    const reached = offset + BigInt(bytes.length)
    this.#next = reached
    this.#shown = this.#shown.then(async () => {
      if (this.#over) return
      await this.#options.data(bytes, offset)
      if (reached !== this.#next && reached - this.#acked < LIMITS.consoleAckBytes) return
      this.#acked = reached
      this.#send({ type: 'ack', id: ID, offset: reached })
    })
    this.#shown.catch((error: unknown) => this.#end(error))
  }

  #send(frame: ConsoleFrame): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(encodeConsoleFrame(frame))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  #end(fault?: unknown): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#retry)
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#socket.terminate()
    this.#wake()
    if (fault === undefined) this.#ended.resolve()
    else this.#ended.reject(fault)
  }
}

const PREFIX = 'console unavailable: '

/** What the broker says as a fault, whose own words begin with the same prefix. */
export function consoleUnavailable(reason: string): Fault {
  const detail = reason.startsWith(PREFIX) ? reason.slice(PREFIX.length) : reason
  return new Fault('console/unavailable', 'transient', { detail, next: 'See "eitri vm list" and "eitri host list".' })
}
