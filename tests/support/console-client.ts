import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import WebSocket from 'ws'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../src/ipc/console-frames.ts'

const ID = 1
const RETRY_MS = 100
const MAX_KEPT_BYTES = 256 * 1024 * 1024

interface Range {
  start: bigint
  chunks: Uint8Array[]
  end: bigint
}

/** A viewer of one VM that keeps every byte and where it came from, and opens again where it stood when its socket closes. */
export class ConsoleViewer implements AsyncDisposable {
  readonly ranges: Range[] = []
  /** What should never happen: bytes that came twice, frames that do not decode. */
  readonly faults: string[] = []
  readonly skips: { from: bigint; to: bigint }[] = []
  readonly links: string[] = []
  holder = false
  closedBecause: string | undefined
  readonly #socketPath: () => string
  readonly vm: string
  readonly #events = new EventEmitter()
  #socket: WebSocket | undefined
  #kept = 0
  #text = ''
  #done = false
  #retry: NodeJS.Timeout | undefined
  #ackPaused = false

  /** `socketPath` is asked again at each connection: a restarted control plane may live elsewhere. */
  constructor(socketPath: () => string, vm: string) {
    this.#socketPath = socketPath
    this.vm = vm
    this.#events.setMaxListeners(0)
    this.#connect()
  }

  /** Everything received as Latin-1, one character per byte, so that positions are offsets. */
  get text(): string {
    return this.#text
  }

  /** First byte not yet received. */
  get next(): bigint {
    return this.ranges.at(-1)?.end ?? 0n
  }

  /** Waits until the text after `after` characters matches; gives the match. */
  async waitFor(pattern: string | RegExp, timeoutMs = 30_000, after = 0): Promise<RegExpExecArray> {
    const regex = typeof pattern === 'string' ? new RegExp(literally(pattern)) : pattern
    const signal = AbortSignal.timeout(timeoutMs)
    for (;;) {
      const found = regex.exec(this.#text.slice(after))
      if (found) return found
      if (this.closedBecause !== undefined) throw new Error(`console closed: ${this.closedBecause}`)
      await once(this.#events, 'change', { signal }).catch((cause: unknown) => {
        const tail = this.#text.slice(-2000)
        throw new Error(`no ${regex} on the console of ${this.vm} in ${timeoutMs} ms; its end: ${tail}`, { cause })
      })
    }
  }

  /** Waits until everything below `offset` has come. */
  async waitForOffset(offset: bigint, timeoutMs = 30_000): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs)
    while (this.next < offset) await once(this.#events, 'change', { signal })
  }

  /** Waits for a link word that comes after the `from`th. */
  async waitForLink(word: string, timeoutMs = 30_000, from = 0): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs)
    while (!this.links.slice(from).includes(word)) await once(this.#events, 'change', { signal })
  }

  type(text: string): void {
    this.#send({ type: 'input', id: ID, bytes: new TextEncoder().encode(text) })
  }

  takeKeyboard(): void {
    this.#send({ type: 'take-keyboard', id: ID })
  }

  /** Stops or resumes telling the broker what was shown. */
  pauseAcks(paused: boolean): void {
    this.#ackPaused = paused
    if (!paused) this.#send({ type: 'ack', id: ID, offset: this.next })
  }

  /** SHA-256 of the one contiguous range; throws when there are several. */
  digest(): { start: bigint; end: bigint; sha256: string } {
    const [range, ...others] = this.ranges
    if (!range || others.length > 0) throw new Error(`${this.ranges.length} ranges instead of one contiguous`)
    const hash = createHash('sha256')
    for (const chunk of range.chunks) hash.update(chunk)
    return { start: range.start, end: range.end, sha256: hash.digest('hex') }
  }

  async close(): Promise<void> {
    this.#done = true
    clearTimeout(this.#retry)
    const socket = this.#socket
    if (!socket || socket.readyState === WebSocket.CLOSED) return
    const gone = once(socket, 'close')
    socket.terminate()
    await gone
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #connect() {
    const socket = new WebSocket(`ws+unix:${this.#path()}:/console`)
    this.#socket = socket
    socket.on('open', () => this.#open())
    socket.on('message', (data: Buffer) => this.#receive(data))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#change(() => this.links.push('socket closed'))
      if (!this.#done) this.#retry = setTimeout(() => this.#connect(), RETRY_MS)
    })
  }

  #path(): string {
    try {
      return this.#socketPath()
    } catch {
      return '/nonexistent'
    }
  }

  #open() {
    this.#send({ type: 'open', id: ID, vm: this.vm, from: this.next })
  }

  #send(frame: ConsoleFrame) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(encodeConsoleFrame(frame))
  }

  #receive(data: Buffer) {
    this.#change(() => {
      try {
        this.#handle(decodeConsoleFrame(data))
      } catch (error) {
        this.faults.push(String(error))
      }
    })
  }

  #handle(frame: ConsoleFrame) {
    if (frame.type === 'data') this.#data(frame.offset, Uint8Array.from(frame.bytes))
    if (frame.type === 'skipped') this.skips.push({ from: frame.from, to: frame.to })
    if (frame.type === 'state') this.links.push(frame.link)
    if (frame.type === 'keyboard') this.holder = frame.holder
    if (frame.type === 'close') this.closedBecause = frame.reason
  }

  #data(offset: bigint, bytes: Uint8Array) {
    this.#kept += bytes.length
    if (this.#kept > MAX_KEPT_BYTES) throw new Error('more bytes than a test keeps')
    const last = this.ranges.at(-1)
    if (last && offset < last.end) this.faults.push(`bytes from ${offset} came again after ${last.end}`)
    if (last?.end === offset) {
      last.chunks.push(bytes)
      last.end += BigInt(bytes.length)
    } else this.ranges.push({ start: offset, chunks: [bytes], end: offset + BigInt(bytes.length) })
    this.#text += Buffer.from(bytes).toString('latin1')
    if (!this.#ackPaused) this.#send({ type: 'ack', id: ID, offset: this.next })
  }

  #change(act: () => void) {
    act()
    this.#events.emit('change')
  }
}

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
