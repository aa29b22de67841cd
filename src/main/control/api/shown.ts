import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf'

/** What watchers were last shown of one noun; ages do not count as a change. */
export class Shown<T extends { id: string }> {
  readonly #schema: DescMessage
  readonly #timeless: (message: T) => unknown
  readonly #entries = new Map<string, { message: T; bytes: Buffer }>()

  constructor(schema: DescMessage, timeless: (message: T) => unknown) {
    this.#schema = schema
    this.#timeless = timeless
  }

  find(id: string): T | undefined {
    return this.#entries.get(id)?.message
  }

  ids(): Iterable<string> {
    return this.#entries.keys()
  }

  *values(): Iterable<T> {
    for (const { message } of [...this.#entries.values()]) yield message
  }

  reset(messages: readonly T[]): void {
    this.#entries.clear()
    for (const message of messages) this.#entries.set(message.id, { message, bytes: this.#bytesOf(message) })
  }

  /** Adds to `upserts` when it differs from what was shown, to `removed` when it is gone. */
  put(id: string, message: T | undefined, upserts: T[], removed: string[]): void {
    const shown = this.#entries.get(id)
    if (!message) {
      if (shown) removed.push(id)
      this.#entries.delete(id)
      return
    }
    const bytes = this.#bytesOf(message)
    if (shown?.bytes.equals(bytes)) return
    this.#entries.set(id, { message, bytes })
    upserts.push(message)
  }

  putAll(messages: readonly T[], upserts: T[], removed: string[]): void {
    const now = new Map(messages.map((message) => [message.id, message]))
    for (const id of [...this.ids()]) if (!now.has(id)) this.put(id, undefined, upserts, removed)
    for (const [id, message] of now) this.put(id, message, upserts, removed)
  }

  #bytesOf(message: T): Buffer {
    return Buffer.from(toBinary(this.#schema, this.#timeless(message) as MessageShape<DescMessage>))
  }
}
