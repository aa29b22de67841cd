import { type ConsoleFrame, type ShellPlace, type TerminalSize, withinTerminal } from '../../../ipc/console-frames.ts'
import { KiB, LIMITS, MiB } from '../../../ipc/units.ts'
import { formatBytes } from '../../lib/format.ts'
import { RESET_MODES, remark } from './terminal-modes.ts'

/** The shared duplex, as one console uses it. */
export interface ConsoleLine {
  join(listener: { onUp: () => void; onDown: () => void; onFrame: (frame: ConsoleFrame) => void }): number
  leave(id: number): void
  send(frame: ConsoleFrame): boolean
}

/** Where bytes become a screen. `done` is called when they have been parsed, in order; `past` = nobody here saw them come. */
export interface ConsoleSink {
  write(bytes: Uint8Array | string, done: () => void, past: boolean): void
}

/** What a pane shows: the serial console of a VM, or a shell over SSH. */
export type SessionTarget = { kind: 'console'; vmId: string } | { kind: 'shell'; place: ShellPlace }

export interface ConsoleState {
  /**
   * `opening` until the first answer; `lost` = the app does not answer; `resting` = nobody looks, and it goes on from here
   * when somebody does; `closed` is final.
   */
  link: 'opening' | 'live' | 'reconnecting' | 'stopped' | 'lost' | 'resting' | 'closed'
  detail: string
  /** Whether what is typed reaches the guest. */
  keyboard: boolean
  /** Text of the past is being shown; answers of the terminal to it go nowhere. */
  replaying: boolean
  /** Open, and the guest has printed nothing since it was made. */
  silent: boolean
  title: string
  /** A shell that is told of the size of its view. */
  resizes: boolean
  /** More came than can be shown: the newest is, and this many bytes are only in the log of the host. */
  notShown: bigint
}

const TAIL_BYTES = 256 * KiB
/** Output at this speed is looked at for how far behind it is, bytes in LOOK_MS. */
const FAST_BYTES = 2 * MiB
const LOOK_MS = 2_000
/** Further behind than this nobody reads it: the newest is shown instead. */
const MAX_BEHIND_BYTES = BigInt(8 * MiB)
const MAX_QUEUED_INPUT = LIMITS.consoleInputBytes
const FIRST: ConsoleState = {
  link: 'opening',
  detail: '',
  keyboard: false,
  replaying: false,
  silent: false,
  title: '',
  resizes: false,
  notShown: 0n,
}

/** What another viewer did, for the one that held the keyboard. */
const KEYBOARD_TAKEN = 'another viewer took the keyboard'
const SHELL_LOST = 'the app was lost for a moment, and the shell ended with its connection'

/** One console of one VM, or one shell, over the shared duplex: contiguous bytes to the sink, acks back, the keyboard to the guest. */
export class ConsoleSession {
  readonly target: SessionTarget
  readonly #line: ConsoleLine
  readonly #sink: ConsoleSink
  readonly #listeners = new Set<() => void>()
  #id: number
  #state: ConsoleState = FIRST
  #size: TerminalSize = { rows: 24, cols: 80 }
  /** Of the log on the host, as far as it was told. */
  #head = 0n
  #end = 0n
  /** The stream is being begun anew further on: what comes before its answer is not wanted. */
  #jumping = false
  #heldKeyboard = false
  #looking: number | undefined
  #looked = { at: 0, offset: 0n }
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

  constructor(target: SessionTarget, line: ConsoleLine, sink: ConsoleSink, now: () => number = Date.now) {
    this.target = target
    this.#now = now
    this.#line = line
    this.#sink = sink
    this.#id = this.#join()
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

  /** The byte behind the last of the log on the host, as far as is known here. */
  get logEnd(): bigint {
    return this.offset > this.#end ? this.offset : this.#end
  }

  /** Bytes of that log. */
  get loggedBytes(): bigint {
    return this.logEnd - this.#head
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

  /** Of the view; a shell that can be is told. */
  resize(view: TerminalSize): void {
    const size = withinTerminal(view)
    if (size.rows === this.#size.rows && size.cols === this.#size.cols) return
    this.#size = size
    if (this.#state.resizes && this.#state.link === 'live')
      this.#line.send({ type: 'resize', id: this.#id, rows: size.rows, cols: size.cols })
  }

  /** Nobody looks: nothing more is sent here, nor parsed. Text stays, and `resume` goes on behind it. Not for shells. */
  rest(): void {
    if (this.#state.link === 'closed' || this.#state.link === 'resting' || this.target.kind === 'shell') return
    this.#leave()
    this.#set({ link: 'resting', detail: '', keyboard: false })
  }

  /** Somebody looks again. Does nothing to a session that does not rest. */
  resume(): void {
    if (this.#state.link !== 'resting') return
    this.#set({ link: 'opening' })
    this.#id = this.#join()
  }

  /** Asks for the stream anew, from the byte behind the last. Not for shells, whose connection is the shell. */
  reconnect(): void {
    if (this.target.kind === 'shell' || this.#state.link === 'closed') return
    this.#leave()
    this.#set({ link: 'opening', detail: '', keyboard: false })
    this.#id = this.#join()
  }

  /** One that was closed, again: a console from where it was, a shell as another one below the text of the last. */
  reopen(): void {
    if (this.#state.link !== 'closed') return
    if (this.target.kind === 'shell') {
      this.#next = undefined
      this.#parsed = 0n
      this.#acked = 0n
      this.#replayEnd = 0n
      this.#write(`${RESET_MODES}${remark('another shell')}`, 0n)
    }
    this.#set({ ...FIRST, notShown: this.#state.notShown })
    this.#id = this.#join()
  }

  /** Leaves the wire. The sink keeps its text. */
  close(): void {
    this.#leave()
    this.#set({ link: 'closed', detail: '', keyboard: false, replaying: false })
  }

  /** What is only in the log was seen to be. */
  forgetNotShown(): void {
    this.#set({ notShown: 0n })
  }

  #join(): number {
    return this.#line.join({
      onUp: () => this.#open(),
      onDown: () => this.#onDown(),
      onFrame: (frame) => this.#onFrame(frame),
    })
  }

  #leave(): void {
    this.#stopLooking()
    this.#jumping = false
    this.#line.leave(this.#id)
  }

  #open(): void {
    const { target } = this
    this.#jumping = false
    if (this.#state.link === 'closed') return
    if (target.kind === 'shell') {
      this.#line.send({ type: 'open-shell', id: this.#id, ...target.place, ...this.#size })
      return
    }
    const from = this.#next === undefined ? { tailBytes: TAIL_BYTES } : { from: this.#next }
    this.#line.send({ type: 'open', id: this.#id, vm: target.vmId, ...from })
  }

  #onDown(): void {
    this.#looking = undefined
    if (this.#state.link === 'closed') return
    if (this.target.kind === 'shell' && this.#next !== undefined)
      this.#set({ link: 'closed', detail: SHELL_LOST, keyboard: false, replaying: false })
    else this.#set({ link: 'lost', detail: '', keyboard: false })
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
        this.#onKeyboard(frame.holder)
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

  #onOpened({ start, end, head, title, resizes }: ConsoleFrame & { type: 'opened' }): void {
    const jumped = this.#jumping
    this.#jumping = false
    this.#head = head
    this.#end = end
    if (this.#next === undefined) {
      this.#next = start
      this.#parsed = start
    } else if (jumped && start > this.#next) this.#passOver(this.#next, start)
    else if (end - this.#next > MAX_BEHIND_BYTES) {
      this.#jumpTo(end)
      return
    }
    this.#acked = this.#parsed
    if (end > this.#replayEnd) this.#replayEnd = end
    this.#line.send({ type: 'ack', id: this.#id, offset: this.#parsed })
    this.#set({
      link: 'live',
      detail: '',
      title,
      replaying: this.#parsed < this.#replayEnd,
      silent: end === 0n && this.target.kind === 'console',
      resizes: resizes ?? false,
    })
    if (jumped && this.#heldKeyboard) this.takeKeyboard()
    if (resizes) this.#line.send({ type: 'resize', id: this.#id, ...this.#size })
  }

  #onKeyboard(holder: boolean): void {
    const wasMine = this.#state.keyboard
    this.#set({ keyboard: holder, ...(holder || !wasMine || this.#jumping ? {} : { detail: KEYBOARD_TAKEN }) })
    if (holder && this.#state.detail === KEYBOARD_TAKEN) this.#set({ detail: '' })
  }

  /** The newest instead of all: the stream is asked for again near its end. */
  #jumpTo(end: bigint): void {
    if (this.target.kind === 'shell') return
    this.#heldKeyboard = this.#state.keyboard
    this.#jumping = true
    const from = end > BigInt(TAIL_BYTES) ? end - BigInt(TAIL_BYTES) : 0n
    this.#line.send({ type: 'open', id: this.#id, vm: this.target.vmId, from })
  }

  #passOver(from: bigint, to: bigint): void {
    this.#next = to
    const missed = to - from
    this.#write(
      `${RESET_MODES}${remark(`${formatBytes(missed)} came too fast to show: only in the log on the host`)}`,
      to,
    )
    this.#parsed = to
    this.#set({ notShown: this.#state.notShown + missed })
  }

  /** At full speed nobody says where the end is: another viewer that reads nothing is told. */
  #lookForEnd(): void {
    if (this.target.kind === 'shell' || this.#state.replaying) return
    const now = this.#now()
    if (now - this.#looked.at < LOOK_MS) return
    const fast = this.offset - this.#looked.offset >= BigInt(FAST_BYTES) && this.#looked.at > 0
    this.#looked = { at: now, offset: this.offset }
    if (!fast || this.#looking !== undefined) return
    const { vmId: vm } = this.target
    const line = this.#line
    const id = line.join({
      onUp: () => line.send({ type: 'open', id, vm, tailBytes: 0, readOnly: true }),
      onDown: () => {},
      onFrame: (frame) => {
        if (frame.type !== 'opened' && frame.type !== 'close') return
        this.#stopLooking()
        if (frame.type === 'opened' && frame.end - this.offset > MAX_BEHIND_BYTES) this.#jumpTo(frame.end)
      },
    })
    this.#looking = id
  }

  #stopLooking(): void {
    if (this.#looking !== undefined) this.#line.leave(this.#looking)
    this.#looking = undefined
  }

  #onData(offset: bigint, bytes: Uint8Array): void {
    if (this.#next === undefined || this.#jumping) return
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
    if (cut > 0) this.#write(fresh.subarray(0, cut), start + BigInt(cut), true)
    if (cut < fresh.length) this.#write(fresh.subarray(cut), this.#next)
    this.#lookForEnd()
  }

  /** Said in its turn among the bytes: what comes is of another boot, and the modes of the last one are gone with it. */
  #onPower(link: ConsoleState['link']): void {
    const next = this.#next ?? 0n
    if (this.#off && link === 'live' && next > 0n && next >= this.#replayEnd)
      this.#write(`${RESET_MODES}${remark('started again')}`, next)
    if (link === 'live' || link === 'stopped') this.#off = link === 'stopped'
  }

  #onSkipped(from: bigint, to: bigint): void {
    if (this.#next === undefined || to <= this.#next || this.#jumping) return
    this.#next = to
    this.#write(`${RESET_MODES}${remark(`${formatBytes(to - from)} skipped: no longer kept by the host`)}`, to)
  }

  #write(bytes: Uint8Array | string, upTo: bigint, past = false): void {
    const done = () => {
      if (upTo > this.#parsed) this.#parsed = upTo
      if (this.#state.replaying && this.#parsed >= this.#replayEnd) this.#set({ replaying: false })
      if (this.#parsed - this.#acked < BigInt(LIMITS.consoleAckBytes)) return
      this.#acked = this.#parsed
      this.#line.send({ type: 'ack', id: this.#id, offset: this.#parsed })
    }
    this.#sink.write(bytes, done, past)
  }

  #set(change: Partial<ConsoleState>): void {
    const next = { ...this.#state, ...change }
    const same = (Object.keys(next) as (keyof ConsoleState)[]).every((key) => next[key] === this.#state[key])
    if (same) return
    this.#state = next
    for (const tell of this.#listeners) tell()
  }
}
