import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ConsoleRequestSchema } from '../../../ipc/gen/eitri/agent/v1/console_pb.js'
import { LIMITS } from '../../../ipc/units.ts'

export type ConsoleRequestInit = MessageInitShape<typeof ConsoleRequestSchema>

/** Input waiting for a guest that reads slowly, bytes per viewer: past the mark it asks to stop, past the end it refuses. */
const INPUT_HIGH_BYTES = LIMITS.consolePasteBytes
const INPUT_MAX_BYTES = 2 * LIMITS.consolePasteBytes

/** What one console stream still has to send: the open, the newest ack, input in order. Ends when told. */
export class ConsoleOutbox implements AsyncIterable<ConsoleRequestInit> {
  readonly #input: Uint8Array[] = []
  readonly #drained: () => void
  #first: ConsoleRequestInit | undefined
  #ack: bigint | undefined
  #bytes = 0
  #ended = false
  #wake: () => void = () => {}

  constructor(open: ConsoleRequestInit, drained: () => void) {
    this.#first = open
    this.#drained = drained
  }

  get full(): boolean {
    return this.#bytes >= INPUT_HIGH_BYTES
  }

  ack(offset: bigint): void {
    this.#ack = offset
    this.#wake()
  }

  /** False = nothing was taken. */
  input(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > INPUT_MAX_BYTES) return false
    this.#input.push(bytes)
    this.#bytes += bytes.length
    this.#wake()
    return true
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ConsoleRequestInit> {
    while (true) {
      const next = this.#take()
      if (next) yield next
      else if (this.#ended) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }

  #take(): ConsoleRequestInit | undefined {
    if (this.#first) {
      const first = this.#first
      this.#first = undefined
      return first
    }
    if (this.#ended) return undefined
    if (this.#ack !== undefined) {
      const offset = this.#ack
      this.#ack = undefined
      return { message: { case: 'ack', value: { offset } } }
    }
    const data = this.#input.shift()
    if (!data) return undefined
    const wasFull = this.full
    this.#bytes -= data.length
    if (wasFull && !this.full) this.#drained()
    return { message: { case: 'input', value: { data: data as Uint8Array<ArrayBuffer> } } }
  }
}
