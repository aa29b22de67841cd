/**
 * A look at what the host has, taken once for all who ask meanwhile and kept when it worked; the next to ask after a
 * failure looks again. It must have a deadline of its own: who asks may stop waiting, the look goes on for the others.
 */
export class SharedLook<T> {
  readonly #look: () => Promise<T>
  #looking: Promise<T> | undefined
  #isUnderWay = false

  constructor(look: () => Promise<T>) {
    this.#look = look
  }

  /** Rejects with what the look failed with, or with the signal's reason. */
  async get(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    this.#looking ??= this.#begin()
    const stop = Promise.withResolvers<never>()
    const abort = () => stop.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await Promise.race([this.#looking, stop.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** As get, with a look not older than this call, but for one that is under way. */
  async renew(signal: AbortSignal): Promise<T> {
    if (!this.#isUnderWay) this.#looking = undefined
    return await this.get(signal)
  }

  #begin(): Promise<T> {
    this.#isUnderWay = true
    const looking = this.#look().finally(() => {
      this.#isUnderWay = false
    })
    looking.catch(() => {
      this.#looking = undefined
    })
    return looking
  }
}
