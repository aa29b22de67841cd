import type { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import { type Log, silentLog } from '../../ipc/base/log.ts'
import { KiB } from '../../ipc/units.ts'

/** Typed bytes the guest has not taken yet; past it a writer waits. */
const INPUT_BACKLOG_BYTES = 64 * KiB
const DRAIN_DEADLINE_MS = 10_000
const CONNECT_TRIES = 10
const RETRY_MS = 200
/** The connection is let go this long after the last byte was typed. */
const IDLE_MS = 1_000

export interface SerialPortOptions {
  connect(): Promise<Duplex>
  log?: Log
  clock?: Clock
}

/**
 * The input side of one powered-on VM's serial socket, connected only while somebody types. QEMU sends what the guest
 * prints here too, and cannot when this process is late: then it stops the guest and writes bytes into the log twice.
 * What comes is thrown away.
 */
export class SerialPort {
  readonly #options: SerialPortOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #closing = new AbortController()
  #socket: Duplex | undefined
  #opening: Promise<Duplex | undefined> | undefined
  #idle = new AbortController()

  constructor(options: SerialPortOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
  }

  /** Resolves undefined once the bytes are on their way, else with one sentence why they are not. */
  async write(bytes: Uint8Array): Promise<string | undefined> {
    const socket = this.#socket ?? (await this.#open())
    if (!socket) return 'the serial port of this VM does not answer yet; nothing was typed'
    if (socket.writableLength > INPUT_BACKLOG_BYTES && !(await this.#drained(socket)))
      return `the guest does not read its keyboard; ${bytes.length} bytes were not typed`
    if (!socket.writable) return 'the serial port was closed; nothing was typed'
    socket.write(bytes)
    this.#letGoWhenIdle(socket)
    return undefined
  }

  close(): void {
    this.#closing.abort()
    this.#idle.abort()
    this.#socket?.destroy()
  }

  #open(): Promise<Duplex | undefined> {
    this.#opening ??= this.#dial().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #dial(): Promise<Duplex | undefined> {
    const { signal } = this.#closing
    for (let tries = 0; tries < CONNECT_TRIES && !signal.aborted; tries++) {
      try {
        const socket = await this.#options.connect()
        if (!signal.aborted) return this.#use(socket)
        socket.destroy()
      } catch (error) {
        if (tries === 0) this.#log.warn('serial.connect-failed', { error: String(error) })
        await this.#pause(RETRY_MS)
      }
    }
    return undefined
  }

  #use(socket: Duplex): Duplex {
    this.#socket = socket
    socket.resume()
    socket.on('error', () => {})
    socket.once('close', () => this.#forget(socket))
    return socket
  }

  #forget(socket: Duplex): void {
    if (this.#socket === socket) this.#socket = undefined
  }

  /** Ends only this side: QEMU takes what is still on its way to the guest before it sees the end. */
  #letGoWhenIdle(socket: Duplex): void {
    this.#idle.abort()
    this.#idle = new AbortController()
    const { signal } = this.#idle
    const rest = async () => {
      do await this.#clock.sleep(IDLE_MS, signal)
      while (socket.writableLength > 0 && !socket.destroyed)
      this.#forget(socket)
      socket.end()
    }
    void rest().catch(() => {})
  }

  async #drained(socket: Duplex): Promise<boolean> {
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
