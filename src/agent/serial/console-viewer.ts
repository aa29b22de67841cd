import type { Fault } from '../../ipc/faults.ts'
import { LIMITS } from '../../ipc/units.ts'
import { AckWindow } from './ack-window.ts'
import { Bell } from './bell.ts'

/** What a viewer reads from: one VM's console. `onChange` rings for growth, power and loss, and returns its stop function. */
export interface ViewedConsole {
  readonly head: number
  readonly end: number
  readonly running: boolean
  readonly gone: Fault | undefined
  read(offset: number, max: number): Promise<Uint8Array | undefined>
  onChange(ring: () => void): () => void
}

export type ConsoleEvent =
  | { type: 'opened'; start: number; end: number; head: number; running: boolean }
  | { type: 'data'; offset: number; bytes: Uint8Array }
  | { type: 'skipped'; from: number; to: number }
  | { type: 'power'; running: boolean }
  | { type: 'refused'; detail: string }

/** Where to begin: an offset, or so many bytes before the end. */
export type ConsoleStart = { from: number } | { tailBytes: number }

/** Refusals a viewer has not read yet; more are dropped, they all say the same. */
const MAX_REFUSALS = 8

/** One reader of one console with its own cursor: however slow, it lags and reads on from the log. */
export class ConsoleViewer {
  readonly #console: ViewedConsole
  readonly #bell = new Bell()
  readonly #window: AckWindow
  readonly #refusals: string[] = []
  readonly #wanted: number
  #cursor: number
  #toldRunning: boolean

  constructor(console: ViewedConsole, start: ConsoleStart) {
    this.#console = console
    const { head, end } = console
    this.#wanted = 'from' in start ? Math.min(start.from, end) : Math.max(head, end - start.tailBytes)
    this.#cursor = Math.max(head, this.#wanted)
    this.#window = new AckWindow(this.#cursor)
    this.#toldRunning = console.running
  }

  ack(offset: number): void {
    this.#window.ack(offset, this.#cursor)
    this.#bell.ring()
  }

  /** Tells the viewer, in its turn, that input did not reach the guest. */
  refuse(detail: string): void {
    if (this.#refusals.length < MAX_REFUSALS) this.#refusals.push(detail)
    this.#bell.ring()
  }

  /** Everything for this viewer in order; ends only by the signal's reason or the console's loss, both thrown. */
  async *events(signal: AbortSignal): AsyncGenerator<ConsoleEvent> {
    const stop = this.#console.onChange(this.#bell.ring)
    try {
      const { end, head } = this.#console
      yield { type: 'opened', start: this.#cursor, end, head, running: this.#toldRunning }
      if (this.#wanted < this.#cursor) yield { type: 'skipped', from: this.#wanted, to: this.#cursor }
      for (;;) {
        signal.throwIfAborted()
        const next = await this.#next()
        if (next) yield next
        else await this.#bell.wait(signal)
      }
    } finally {
      stop()
    }
  }

  async #next(): Promise<ConsoleEvent | undefined> {
    const console = this.#console
    const detail = this.#refusals.shift()
    if (detail !== undefined) return { type: 'refused', detail }
    if (console.running && !this.#toldRunning) return this.#power(true)
    const room = this.#window.room(this.#cursor)
    if (room > 0 && this.#cursor < console.head) return this.#skip()
    if (room > 0 && this.#cursor < console.end) {
      const bytes = await console.read(this.#cursor, Math.min(room, LIMITS.consoleChunkBytes))
      if (bytes === undefined) return this.#skip()
      if (bytes.length > 0) {
        const offset = this.#cursor
        this.#cursor += bytes.length
        return { type: 'data', offset, bytes }
      }
    }
    if (console.gone) throw console.gone
    if (!console.running && this.#toldRunning && this.#cursor >= console.end) return this.#power(false)
    return undefined
  }

  #power(running: boolean): ConsoleEvent {
    this.#toldRunning = running
    return { type: 'power', running }
  }

  #skip(): ConsoleEvent {
    const from = this.#cursor
    this.#cursor = this.#console.head
    this.#window.skipTo(this.#cursor)
    return { type: 'skipped', from, to: this.#cursor }
  }
}
