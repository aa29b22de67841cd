import { fullJitterMs } from '../../ipc/base/backoff.ts'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../ipc/console-frames.ts'
import type { ConsoleDuplex, DuplexEvents } from './console-duplex.ts'

/** What a console on the wire is told. */
export interface WireListener {
  /** The duplex is there (again): ask for what is missing. */
  onUp: () => void
  onDown: () => void
  onFrame: (frame: ConsoleFrame) => void
}

interface WireDeps {
  open: (events: DuplexEvents) => ConsoleDuplex
  setTimer?: (run: () => void, ms: number) => () => void
}

const timer = (run: () => void, ms: number) => {
  const handle = setTimeout(run, ms)
  return () => clearTimeout(handle)
}
const RETRY_CAP_MS = 5000

/** The one duplex all consoles of a window share: opened with the first, opened again when it is lost, closed with the last. */
export class ConsoleWire {
  readonly #deps: Required<WireDeps>
  readonly #listeners = new Map<number, WireListener>()
  #duplex: ConsoleDuplex | undefined
  #up = false
  #failures = 0
  #cancelRetry: (() => void) | undefined
  #lastId = 0

  constructor(deps: WireDeps) {
    this.#deps = { setTimer: timer, ...deps }
  }

  /** A number of its own for a console, which is told at once when the duplex is already there. */
  join(listener: WireListener): number {
    const id = ++this.#lastId
    this.#listeners.set(id, listener)
    if (this.#up) queueMicrotask(() => this.#listeners.has(id) && this.#up && listener.onUp())
    else if (!this.#duplex && !this.#cancelRetry) this.#connect()
    return id
  }

  leave(id: number): void {
    if (!this.#listeners.delete(id)) return
    this.send({ type: 'close', id, reason: '' })
    if (this.#listeners.size > 0) return
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    const duplex = this.#duplex
    this.#duplex = undefined
    this.#up = false
    duplex?.close()
  }

  /** Answers false when there is no duplex now: the frame is dropped, as `onUp` asks again. */
  send(frame: ConsoleFrame): boolean {
    if (!this.#up) return false
    this.#duplex?.send(encodeConsoleFrame(frame))
    return true
  }

  #connect(): void {
    const duplex: ConsoleDuplex = this.#deps.open({
      onOpen: () => {
        if (this.#duplex !== duplex) return
        this.#up = true
        this.#failures = 0
        for (const listener of [...this.#listeners.values()]) listener.onUp()
      },
      onFrame: (bytes) => {
        const frame = decodeConsoleFrame(bytes)
        this.#listeners.get(frame.id)?.onFrame(frame)
      },
      onClose: () => {
        if (this.#duplex !== duplex) return
        this.#duplex = undefined
        this.#up = false
        for (const listener of this.#listeners.values()) listener.onDown()
        if (this.#listeners.size === 0) return
        this.#cancelRetry = this.#deps.setTimer(
          () => {
            this.#cancelRetry = undefined
            this.#connect()
          },
          fullJitterMs(this.#failures++, { capMs: RETRY_CAP_MS }),
        )
      },
    })
    this.#duplex = duplex
  }
}
