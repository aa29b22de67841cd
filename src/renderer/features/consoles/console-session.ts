import type { ConsoleFrame } from '../../../ipc/console-frames.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { formatBytes } from '../../lib/format.ts'

/** The shared duplex, as one console uses it. */
export interface ConsoleLine {
  join(listener: { onUp: () => void; onDown: () => void; onFrame: (frame: ConsoleFrame) => void }): number
  leave(id: number): void
  send(frame: ConsoleFrame): boolean
}

/** Where bytes become a screen. `done` is called when they have been parsed, in order. */
export interface ConsoleSink {
  write(bytes: Uint8Array | string, done: () => void): void
}

export interface ConsoleState {
  /** `opening` until the first answer; `lost` = the app does not answer; `closed` is final. */
  link: 'opening' | 'live' | 'reconnecting' | 'stopped' | 'lost' | 'closed'
  detail: string
  /** Whether what is typed reaches the guest. */
  keyboard: boolean
  /** Text of the past is being shown; answers of the terminal to it go nowhere. */
  replaying: boolean
  /** Open, and the guest has printed nothing since it was made. */
  silent: boolean
  title: string
}

const TAIL_BYTES = 256 * 1024
const MAX_QUEUED_INPUT = LIMITS.consoleInputBytes
/** After a hole in the text the modes a program had set are not known any more: leave alternate screen, mouse and paste modes. */
const RESET_MODES = '\x1b[!p\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l'

/** One console of one VM over the shared duplex: contiguous bytes to the sink, acks back, the keyboard to the guest. */
export class ConsoleSession {
  readonly vm: string
  readonly #line: ConsoleLine
  readonly #sink: ConsoleSink
  readonly #listeners = new Set<() => void>()
  readonly #id: number
  #state: ConsoleState = { link: 'opening', detail: '', keyboard: false, replaying: false, silent: false, title: '' }
  /** Next byte to come, received; undefined before the first `opened`. */
  #next: bigint | undefined
  #parsed = 0n
  #acked = 0n
  /** Bytes below this are of the past. */
  #replayEnd = 0n
  /** The broker last said that the VM is off. */
  #off = false
  #printedAt: number | undefined
  readonly #now: () => number

  constructor(vm: string, line: ConsoleLine, sink: ConsoleSink, now: () => number = Date.now) {
    this.vm = vm
    this.#now = now
    this.#line = line
    this.#sink = sink
    this.#id = line.join({
      onUp: () => this.#open(),
      onDown: () => this.#state.link !== 'closed' && this.#set({ link: 'lost', detail: '', keyboard: false }),
      onFrame: (frame) => this.#onFrame(frame),
    })
  }

  get state(): ConsoleState {
    return this.#state
  }

  /** Offset of the next byte: everything below it has been given to the sink. */
  get offset(): bigint {
    return this.#next ?? 0n
  }

  /** When the guest was last seen to print; undefined while only text of the past was shown. */
  get printedAtMs(): number | undefined {
    return this.#printedAt
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * What the terminal sends: typed by a person, or its own answer to a query it just parsed. An answer to a query of
   * the past would be typed into the guest's prompt, so it is dropped. Answers false when nothing was sent.
   */
  input(text: string, by: 'person' | 'terminal'): boolean {
    if (by === 'terminal' && this.#state.replaying) return false
    if (!this.#state.keyboard || this.#state.link !== 'live') return false
    const bytes = new TextEncoder().encode(text)
    for (let at = 0; at < bytes.length; at += MAX_QUEUED_INPUT)
      this.#line.send({ type: 'input', id: this.#id, bytes: bytes.subarray(at, at + MAX_QUEUED_INPUT) })
    return true
  }

  takeKeyboard(): void {
    this.#line.send({ type: 'take-keyboard', id: this.#id })
  }

  /** Leaves the wire. The sink keeps its text. */
  close(): void {
    this.#line.leave(this.#id)
    this.#set({ link: 'closed', detail: '', keyboard: false, replaying: false })
  }

  #open(): void {
    if (this.#state.link === 'closed') return
    const from = this.#next === undefined ? { tailBytes: TAIL_BYTES } : { from: this.#next }
    this.#line.send({ type: 'open', id: this.#id, vm: this.vm, ...from })
  }

  #onFrame(frame: ConsoleFrame): void {
    switch (frame.type) {
      case 'opened':
        this.#onOpened(frame)
        break
      case 'data':
        this.#onData(frame.offset, frame.bytes)
        break
      case 'skipped':
        this.#onSkipped(frame.from, frame.to)
        break
      case 'keyboard':
        this.#set({ keyboard: frame.holder })
        break
      case 'state':
        this.#onPower(frame.link)
        this.#set({ link: frame.link, detail: frame.detail })
        break
      case 'close':
        this.#set({ link: 'closed', detail: frame.reason, keyboard: false, replaying: false })
        break
      default:
        break
    }
  }

  #onOpened({ start, end, title }: ConsoleFrame & { type: 'opened' }): void {
    if (this.#next === undefined) {
      this.#next = start
      this.#parsed = start
    }
    this.#acked = this.#parsed
    if (end > this.#replayEnd) this.#replayEnd = end
    this.#line.send({ type: 'ack', id: this.#id, offset: this.#parsed })
    this.#set({ link: 'live', detail: '', title, replaying: this.#parsed < this.#replayEnd, silent: end === 0n })
  }

  #onData(offset: bigint, bytes: Uint8Array): void {
    if (this.#next === undefined) return
    if (offset > this.#next) this.#onSkipped(this.#next, offset)
    const fresh = offset < this.#next ? bytes.subarray(Number(this.#next - offset)) : bytes
    if (fresh.length === 0) return
    if (offset >= this.#replayEnd) this.#printedAt = this.#now()
    this.#set({ silent: false })
    const start = this.#next
    this.#next += BigInt(fresh.length)
    // Split where the past ends, so that a query right behind it is answered.
    const past = this.#replayEnd > start ? Number(this.#replayEnd - start) : 0
    const cut = Math.min(past, fresh.length)
    if (cut > 0) this.#write(fresh.subarray(0, cut), start + BigInt(cut))
    if (cut < fresh.length) this.#write(fresh.subarray(cut), this.#next)
  }

  /** Said in its turn among the bytes: what comes is of another boot, and the modes of the last one are gone with it. */
  #onPower(link: ConsoleState['link']): void {
    const next = this.#next ?? 0n
    if (this.#off && link === 'live' && next > 0n && next >= this.#replayEnd)
      this.#write(`${RESET_MODES}\r\n\x1b[0;2m── started again ──\x1b[0m\r\n`, next)
    if (link === 'live' || link === 'stopped') this.#off = link === 'stopped'
  }

  #onSkipped(from: bigint, to: bigint): void {
    if (this.#next === undefined || to <= this.#next) return
    this.#next = to
    const lost = formatBytes(to - from)
    this.#write(`${RESET_MODES}\r\n\x1b[0;2m── ${lost} skipped: no longer kept by the host ──\x1b[0m\r\n`, to)
  }

  #write(bytes: Uint8Array | string, upTo: bigint): void {
    this.#sink.write(bytes, () => {
      if (upTo > this.#parsed) this.#parsed = upTo
      if (this.#state.replaying && this.#parsed >= this.#replayEnd) this.#set({ replaying: false })
      if (this.#parsed - this.#acked < BigInt(LIMITS.consoleAckBytes)) return
      this.#acked = this.#parsed
      this.#line.send({ type: 'ack', id: this.#id, offset: this.#parsed })
    })
  }

  #set(change: Partial<ConsoleState>): void {
    const next = { ...this.#state, ...change }
    const same = (Object.keys(next) as (keyof ConsoleState)[]).every((key) => next[key] === this.#state[key])
    if (same) return
    this.#state = next
    for (const tell of this.#listeners) tell()
  }
}
