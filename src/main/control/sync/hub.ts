/** One listener's view of the pokes of a host: pokes while it is busy become one. */
export interface Pokes {
  /** Resolves at the next poke, at once when one is pending; rejects with the signal's reason. */
  next(signal: AbortSignal): Promise<void>
  stop(): void
}

/** Wakes the session of a host whose desired state changed. */
export class Hub {
  readonly #listeners = new Map<string, Set<() => void>>()

  poke(hostId: string): void {
    for (const wake of this.#listeners.get(hostId) ?? []) wake()
  }

  subscribe(hostId: string): Pokes {
    let pending = false
    let waiting: (() => void) | undefined
    const wake = () => {
      pending = true
      waiting?.()
    }
    const listeners = this.#listeners.get(hostId) ?? new Set()
    this.#listeners.set(hostId, listeners.add(wake))
    return {
      next: async (signal) => {
        signal.throwIfAborted()
        if (!pending) {
          await new Promise<void>((resolve, reject) => {
            const stop = () => reject(signal.reason)
            signal.addEventListener('abort', stop, { once: true })
            waiting = () => {
              signal.removeEventListener('abort', stop)
              resolve()
            }
          }).finally(() => {
            waiting = undefined
          })
        }
        pending = false
      },
      stop: () => {
        listeners.delete(wake)
        if (listeners.size === 0) this.#listeners.delete(hostId)
      },
    }
  }
}
