import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ForwardRequestSchema } from '../../../ipc/gen/eitri/agent/v1/network_pb.js'
import { LIMITS } from '../../../ipc/units.ts'

type ForwardRequestInit = MessageInitShape<typeof ForwardRequestSchema>

/** What a client's side still has for the guest: the open, bytes in order, the end of its side. Ends when told. */
export class TunnelOutbox implements AsyncIterable<ForwardRequestInit> {
  readonly #waiting: ForwardRequestInit[]
  readonly #drained: () => void
  #bytes = 0
  #over = false
  #wake: () => void = () => {}

  constructor(open: { sessionId: string; vmId: string; guestPort: number }, drained: () => void) {
    this.#waiting = [{ message: { case: 'open', value: open } }]
    this.#drained = drained
  }

  /** Takes all the same; whoever fills it stops at false until it is drained. */
  data(bytes: Uint8Array<ArrayBuffer>): boolean {
    this.#bytes += bytes.length
    this.#push({ message: { case: 'data', value: bytes } })
    return this.#bytes < LIMITS.tunnelBufferBytes
  }

  end(): void {
    this.#push({ message: { case: 'end', value: {} } })
  }

  /** What was not taken is dropped. */
  close(): void {
    this.#over = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ForwardRequestInit> {
    while (!this.#over) {
      const next = this.#waiting.shift()
      if (next) {
        this.#took(next)
        yield next
      } else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }

  #push(message: ForwardRequestInit): void {
    this.#waiting.push(message)
    this.#wake()
  }

  #took({ message }: ForwardRequestInit): void {
    if (message?.case !== 'data') return
    const wasFull = this.#bytes >= LIMITS.tunnelBufferBytes
    this.#bytes -= (message.value as Uint8Array).length
    if (wasFull && this.#bytes < LIMITS.tunnelBufferBytes) this.#drained()
  }
}
