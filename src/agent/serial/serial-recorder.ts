import { Duplex } from 'node:stream'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { AppendFile } from '../os/files.ts'

/** A serial line that closed is opened again after this long. */
const RETRY_MS = 500
/** A guest that ended has its last words read within this. */
const LAST_WORDS_MS = 1_000

export interface SerialRecorderOptions {
  vmId: string
  logPath: string
  /** The one connection to the guest's serial port: what it prints and what it is typed. The recorder destroys it. */
  connect(): Promise<Duplex>
  clock: Clock
  log: Log
  /** The line closed: the guest's process ended, or made its port anew. */
  onClosed?(): void
}

/**
 * Writes down what a guest prints, for hypervisors that keep no log themselves, and lets others type on the same
 * connection. What the guest prints while no recorder runs is lost unless the hypervisor keeps it.
 */
export class SerialRecorder {
  readonly #options: SerialRecorderOptions
  readonly #stopped = new AbortController()
  #line: Duplex | undefined
  #file: AppendFile | undefined
  #failing = false
  readonly #running: Promise<void>

  constructor(options: SerialRecorderOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  /** A stream that types into the guest and prints nothing; ending it leaves the line open. Rejects while there is none. */
  async input(): Promise<Duplex> {
    if (!this.#line) throw new Error('the serial line is not open')
    return new SerialInput(this.#line)
  }

  /** Lets go of a guest that runs on. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#line?.destroy()
    await this.#running
  }

  /** The guest has ended: resolves when its last words are written. Idempotent. */
  async finish(): Promise<void> {
    this.#stopped.abort()
    const late = new AbortController()
    await Promise.race([this.#running, this.#options.clock.sleep(LAST_WORDS_MS, late.signal).catch(() => {})])
    late.abort()
    await this.stop()
  }

  async #run(): Promise<void> {
    const { clock, connect, onClosed } = this.#options
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const line = await connect().catch(() => undefined)
      if (line) {
        await this.#record(line)
        onClosed?.()
      }
      await clock.sleep(RETRY_MS, signal).catch(() => {})
    }
    await this.#file?.close()
  }

  async #record(line: Duplex): Promise<void> {
    line.on('error', () => {})
    if (this.#stopped.signal.aborted) return void line.destroy()
    this.#line = line
    try {
      for await (const chunk of line as AsyncIterable<Buffer>) await this.#keep(chunk)
    } catch {
      // A line that breaks is a line that closed.
    } finally {
      this.#line = undefined
      line.destroy()
    }
  }

  async #keep(chunk: Buffer): Promise<void> {
    const { log, logPath, vmId } = this.#options
    try {
      this.#file ??= await AppendFile.open('serial.open', logPath)
      await this.#file.append('serial.append', chunk)
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log.warn('serial.record-failed', { vm: vmId, error: String(error) })
      this.#failing = true
    }
  }
}

class SerialInput extends Duplex {
  readonly #line: Duplex
  readonly #lineClosed = () => this.destroy()

  constructor(line: Duplex) {
    super()
    this.#line = line
    line.once('close', this.#lineClosed)
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#line.writable) this.#line.write(chunk, done)
    else done(new Error('the serial line closed'))
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#line.off('close', this.#lineClosed)
    done(error)
  }
}
