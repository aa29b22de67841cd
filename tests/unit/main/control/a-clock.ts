import type { Clock } from '../../../../src/ipc/base/clock.ts'

interface Sleeper {
  at: number
  wake(): void
}

/** A clock that moves only when told. */
export class ManualClock implements Clock {
  #ms = 0
  readonly #sleepers = new Set<Sleeper>()

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#ms
  }

  monotonic(): number {
    return this.#ms
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const sleeper = { at: this.#ms + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal?.addEventListener(
        'abort',
        () => {
          this.#sleepers.delete(sleeper)
          reject(signal.reason)
        },
        { once: true },
      )
    })
  }

  /** Moves on and wakes whoever is due, then lets what they do settle. */
  async advance(ms: number): Promise<void> {
    this.#ms += ms
    for (const sleeper of [...this.#sleepers].sort((a, b) => a.at - b.at)) {
      if (sleeper.at > this.#ms) continue
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
    await settled()
  }

  get sleeping(): number {
    return this.#sleepers.size
  }
}

/** Lets every callback that is already due run. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Waits until `holds` is true, looking again at every turn of the event loop; gives up after 5 s. */
export async function until(holds: () => boolean, what = 'it'): Promise<void> {
  const end = Date.now() + 5_000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`${what} did not come true`)
    await settled()
  }
}
