/** Wakes one waiting loop; a ring while it is busy is kept, several count as one. */
export class Bell {
  #rings = 0
  #wake: (() => void) | undefined

  readonly ring = (): void => {
    this.#rings++
    this.#wake?.()
  }

  /** Resolves at the next ring, at once when it rang since the last wait, or after `atMostMs`; rejects when aborted. */
  async wait(signal: AbortSignal, atMostMs?: number): Promise<void> {
    signal.throwIfAborted()
    if (this.#rings === 0) await this.#sleep(signal, atMostMs)
    this.#rings = 0
  }

  #sleep(signal: AbortSignal, atMostMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void) => () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        this.#wake = undefined
        settle()
      }
      const stop = done(() => reject(signal.reason))
      const timer = atMostMs === undefined ? undefined : setTimeout(done(resolve), atMostMs)
      signal.addEventListener('abort', stop, { once: true })
      this.#wake = done(resolve)
    })
  }
}
