import type { Socket } from 'node:net'
import { fullJitterMs } from '../../ipc/base/backoff.ts'
import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import { type Log, silentLog } from '../../ipc/base/log.ts'
import { KiB } from '../../ipc/units.ts'

/** Typed bytes the guest has not taken yet; past it a writer waits. */
const INPUT_BACKLOG_BYTES = 64 * KiB
const DRAIN_DEADLINE_MS = 10_000
const CONNECT_WAIT_MS = 2_000
const RECONNECT = { floorMs: 100, capMs: 2_000 }

export interface SerialPortOptions {
  connect(): Promise<Socket>
  log?: Log
  clock?: Clock
}

/**
 * The input side of one powered-on VM's serial socket. What the guest prints arrives here too and is thrown away: a
 * client that does not read stops the guest. Reconnects until closed.
 */
export class SerialPort {
  readonly #options: SerialPortOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #closing = new AbortController()
  #socket: Socket | undefined
  #waiting: (() => void)[] = []

  constructor(options: SerialPortOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
    void this.#keepConnected()
  }

  /** Resolves undefined once the bytes are on their way, else with one sentence why they are not. */
  async write(bytes: Uint8Array): Promise<string | undefined> {
    const socket = this.#socket ?? (await this.#nextSocket())
    if (!socket) return 'the serial port of this VM does not answer yet; nothing was typed'
    if (socket.writableLength > INPUT_BACKLOG_BYTES && !(await this.#drained(socket)))
      return `the guest does not read its keyboard; ${bytes.length} bytes were not typed`
    if (socket.destroyed) return 'the serial port was closed; nothing was typed'
    socket.write(bytes)
    return undefined
  }

  close(): void {
    this.#closing.abort()
    this.#socket?.destroy()
    this.#announce()
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const socket = await this.#options.connect()
        if (signal.aborted) return void socket.destroy()
        failures = 0
        await this.#use(socket)
      } catch (error) {
        if (failures === 0) this.#log.warn('serial.connect-failed', { error: String(error) })
      }
      await this.#clock.sleep(fullJitterMs(failures, RECONNECT), signal).catch(() => {})
    }
  }

  #use(socket: Socket): Promise<void> {
    this.#socket = socket
    socket.resume()
    socket.on('error', () => {})
    this.#announce()
    return new Promise((resolve) =>
      socket.once('close', () => {
        this.#socket = undefined
        resolve()
      }),
    )
  }

  #announce(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #nextSocket(): Promise<Socket | undefined> {
    if (this.#closing.signal.aborted) return undefined
    const connected = new Promise<void>((resolve) => this.#waiting.push(resolve))
    await Promise.race([connected, this.#pause(CONNECT_WAIT_MS)])
    return this.#socket
  }

  async #drained(socket: Socket): Promise<boolean> {
    let done = false
    const drained = new Promise<void>((resolve) => {
      socket.once('drain', () => {
        done = true
        resolve()
      })
      socket.once('close', () => resolve())
    })
    await Promise.race([drained, this.#pause(DRAIN_DEADLINE_MS)])
    return done
  }

  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#closing.signal).catch(() => {})
  }
}
