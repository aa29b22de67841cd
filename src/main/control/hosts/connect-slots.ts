/** Hosts dialled at once: after sleep they come back in waves. */
export const MAX_CONNECTS = 8

/** Lets a bounded number of tries run; the others wait in order. */
export class ConnectSlots {
  readonly #max: number
  readonly #queue: (() => void)[] = []
  #running = 0

  constructor(max = MAX_CONNECTS) {
    this.#max = max
  }

  /** Rejects with the signal's reason when it aborts while waiting. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#running--
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#running < this.#max) {
      this.#running++
      return
    }
    // Whoever leaves hands its slot on.
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(go), 1)
        reject(signal.reason)
      }
      this.#queue.push(go)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
