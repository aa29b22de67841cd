/** Bounds how many creates download and copy at one time; 0 = unbounded. First come, first served. */
export class CreateSlots {
  readonly #limit: number
  readonly #queue: (() => void)[] = []
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many are taken now. */
  get inUse(): number {
    return this.#taken
  }

  /** Resolves with the release, to be called exactly once; rejects with the signal's reason while waiting. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#limit > 0 && this.#taken >= this.#limit) await this.#wait(signal)
    else this.#taken++
    let released = false
    return () => {
      if (released) return
      released = true
      const next = this.#queue.shift()
      if (next) next()
      else this.#taken--
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = () => {
        this.#queue.splice(this.#queue.indexOf(turn), 1)
        reject(signal.reason)
      }
      this.#queue.push(turn)
      signal.addEventListener('abort', abort, { once: true })
    })
  }
}
