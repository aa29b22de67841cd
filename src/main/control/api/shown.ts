import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf'

interface Entry<T> {
  message: T
  bytes: Buffer
}

/** What watchers were last shown of one noun; what `timeless` leaves out does not count as a change. */
export class Shown<T extends { id: string }> {
  readonly #schema: DescMessage
  readonly #timeless: (message: T) => unknown
  readonly #groupOf: (message: T) => string
  readonly #entries = new Map<string, Entry<T>>()
  readonly #groups = new Map<string, Set<string>>()

  constructor(schema: DescMessage, timeless: (message: T) => unknown, groupOf: (message: T) => string = () => '') {
    this.#schema = schema
    this.#timeless = timeless
    this.#groupOf = groupOf
  }

  find(id: string): T | undefined {
    return this.#entries.get(id)?.message
  }

  ids(): string[] {
    return [...this.#entries.keys()]
  }

  idsIn(group: string): string[] {
    return [...(this.#groups.get(group) ?? [])]
  }

  reset(messages: readonly T[]): void {
    this.#entries.clear()
    this.#groups.clear()
    for (const message of messages) this.#set(message, this.#bytesOf(message))
  }

  /** Adds to `upserts` when it differs from what was shown, to `removed` when it is gone. */
  put(id: string, message: T | undefined, upserts: T[], removed: string[]): void {
    const shown = this.#entries.get(id)
    if (!message) {
      if (shown) removed.push(id)
      this.#drop(id)
      return
    }
    const bytes = this.#bytesOf(message)
    if (shown?.bytes.equals(bytes)) return
    this.#drop(id)
    this.#set(message, bytes)
    upserts.push(message)
  }

  putAll(messages: readonly T[], upserts: T[], removed: string[]): void {
    const now = new Map(messages.map((message) => [message.id, message]))
    for (const id of this.ids()) if (!now.has(id)) this.put(id, undefined, upserts, removed)
    for (const [id, message] of now) this.put(id, message, upserts, removed)
  }

  #set(message: T, bytes: Buffer): void {
    this.#entries.set(message.id, { message, bytes })
    const group = this.#groupOf(message)
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(message.id))
  }

  #drop(id: string): void {
    const shown = this.#entries.get(id)
    if (!shown) return
    this.#entries.delete(id)
    const group = this.#groupOf(shown.message)
    const ids = this.#groups.get(group)
    ids?.delete(id)
    if (ids?.size === 0) this.#groups.delete(group)
  }

  #bytesOf(message: T): Buffer {
    return Buffer.from(toBinary(this.#schema, this.#timeless(message) as MessageShape<DescMessage>))
  }
}
