import type { ChildProcessByStdio } from 'node:child_process'
import { Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import type { Fault } from '../../../../ipc/faults.ts'
import type { CommandChannel } from '../ssh/channel.ts'

export type PipedProcess = ChildProcessByStdio<Writable, Readable, Readable>

/** How a process of ssh ended: by the command's status, null when a signal ended that, or cut off. */
export type ChannelEnd = { status: number | null } | { lost: Fault }

/** A local ssh process as the channel it stands for. `endOf` reads its exit. */
export class ProcessChannel extends Duplex implements CommandChannel {
  lost?: Fault
  readonly stderr = new PassThrough()
  bytesRead = 0
  readonly #child: PipedProcess

  constructor(child: PipedProcess, endOf: (code: number) => Promise<ChannelEnd>) {
    super({ allowHalfOpen: true })
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => {
      this.bytesRead += chunk.length
      if (!this.push(chunk)) child.stdout.pause()
    })
    child.stderr.pipe(this.stderr)
    child.stdin.on('error', () => {})
    const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? SIGNALLED)))
    void ended.then(endOf).then((end) => this.#end(end))
  }

  close(): void {
    this.destroy()
  }

  override _read(): void {
    this.#child.stdout.resume()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    this.#child.stdin.write(chunk, encoding, () => done())
  }

  override _final(done: () => void): void {
    this.#child.stdin.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#child.kill('SIGTERM')
    this.#child.stdin.destroy()
    done(error)
  }

  #end(end: ChannelEnd): void {
    if (this.destroyed) return
    if ('lost' in end) this.lost = end.lost
    else this.emit('exit', end.status)
    this.push(null)
    // Closed once it was read, as a channel of SSH is.
    if (this.readableEnded) this.destroy()
    else this.once('end', () => this.destroy())
  }
}

/** Of our own making: the channel was closed. */
const SIGNALLED = 255
