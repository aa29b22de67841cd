import type { ConsoleFrame, TerminalSize } from '../../../ipc/console-frames.ts'
import { cutUtf8 } from '../../../ipc/console-frames.ts'
import { faultText } from '../../../ipc/fault-text.ts'
import { asFault } from '../../../ipc/faults.ts'
import { LIMITS } from '../../../ipc/units.ts'
import type { OpenShell, Shell } from './shell.ts'
import type { ConsoleSink } from './viewer.ts'

type Open = Extract<ConsoleFrame, { type: 'open-shell' }>

/** Typed and not yet taken by the shell, bytes: past the mark the window is asked to stop, past the end it is refused. */
const INPUT_HIGH_BYTES = LIMITS.consolePasteBytes
const INPUT_MAX_BYTES = 2 * LIMITS.consolePasteBytes

/** One window's side of one shell: its bytes from 0, as fast as the window shows them. It ends with its connection. */
export class ShellViewer {
  readonly #id: number
  readonly #sink: ConsoleSink
  readonly #over = new AbortController()
  #shell: Shell | undefined
  #sent = 0n
  #acked = 0n
  #size: TerminalSize
  #credit: () => void = () => {}

  constructor(open: Open, sink: ConsoleSink) {
    this.#id = open.id
    this.#size = { rows: open.rows, cols: open.cols }
    this.#sink = sink
  }

  /** Runs until the shell or the window ends it; never rejects. Call once. */
  async run(tenant: string, { kind, ref, login }: Open, openShell: OpenShell): Promise<void> {
    const { signal } = this.#over
    try {
      const shell = await openShell(tenant, { kind, ref, login }, this.#size, signal)
      this.#shell = shell
      if (signal.aborted) shell.channel.destroy()
      // All it said comes before why it ended.
      await this.#read(shell)
      if (signal.aborted) return
      const why = await shell.ended
      this.#close(`${shell.title}: ${why}`)
    } catch (error) {
      const fault = asFault(error)
      this.#close(faultText(fault.code, fault.params).what)
    } finally {
      this.#shell?.channel.destroy()
    }
  }

  ack(offset: bigint): void {
    if (offset > this.#sent || offset <= this.#acked) return
    this.#acked = offset
    this.#credit()
  }

  /** False = it reads slowly: send no more until `inputDrained`. */
  input(bytes: Uint8Array): boolean {
    const channel = this.#shell?.channel
    if (!channel || channel.destroyed || channel.writableEnded) return true
    if (channel.writableLength + bytes.length > INPUT_MAX_BYTES) {
      const detail = 'the shell does not read: what was typed was not sent'
      void this.#sink.send({ type: 'state', id: this.#id, link: 'live', detail })
      return false
    }
    channel.write(bytes, () => {
      if (channel.writableLength < INPUT_HIGH_BYTES) this.#sink.inputDrained()
    })
    return channel.writableLength < INPUT_HIGH_BYTES
  }

  resize(size: TerminalSize): void {
    this.#size = size
    this.#shell?.resize?.(size)
  }

  /** A shell has one viewer, which has the keyboard. */
  takeKeyboard(): void {}

  /** Ends the shell. Idempotent. */
  close(): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#shell?.channel.destroy()
    this.#credit()
    this.#sink.ended()
  }

  #close(reason: string): void {
    if (this.#over.signal.aborted) return
    void this.#sink.send({ type: 'close', id: this.#id, reason: cutUtf8(reason) })
    this.close()
  }

  async #read(shell: Shell): Promise<void> {
    try {
      for await (const chunk of shell.channel as AsyncIterable<Buffer>) {
        if (this.#sent === 0n) this.#opened(shell)
        for (let at = 0; at < chunk.length; at += LIMITS.consoleChunkBytes)
          await this.#data(chunk.subarray(at, at + LIMITS.consoleChunkBytes))
        if (this.#over.signal.aborted) return
      }
    } catch {
      // Its end says why.
    }
  }

  /** Said with its first byte: until then it may still be signing in. */
  #opened({ title, resize }: Shell): void {
    const resizes = resize ? { resizes: true } : {}
    void this.#sink.send({ type: 'opened', id: this.#id, start: 0n, end: 0n, head: 0n, title, ...resizes })
    void this.#sink.send({ type: 'keyboard', id: this.#id, holder: true })
  }

  async #data(bytes: Uint8Array): Promise<void> {
    const offset = this.#sent
    this.#sent += BigInt(bytes.length)
    await this.#sink.send({ type: 'data', id: this.#id, offset, bytes })
    if (this.#unshown() < LIMITS.consoleWindowBytes) return
    while (this.#unshown() >= LIMITS.consoleWindowLowBytes && !this.#over.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#credit = resolve
      })
  }

  #unshown(): number {
    return Number(this.#sent - this.#acked)
  }
}
