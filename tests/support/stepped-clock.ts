import type { Clock } from '../../src/ipc/base/clock.ts'

/** Time that moves only by `advance`; tells when somebody sleeps. */
export class SteppedClock implements Clock {
  wall = Date.UTC(2026, 0, 1)
  mono = 0
  readonly #sleepers = new Set<{ at: number; wake(): void }>()
  readonly #watchers = new Set<() => void>()

  now = () => this.wall
  monotonic = () => this.mono
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const sleeper = { at: this.mono + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      const stop = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', stop, { once: true })
      for (const tell of this.#watchers) tell()
    })
  }

  /** Resolves once so many sleep. */
  async asleep(count: number): Promise<void> {
    if (this.#sleepers.size >= count) return
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.#sleepers.size < count) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
    })
  }

  advance(ms: number): void {
    this.wall += ms
    this.mono += ms
    for (const sleeper of this.#sleepers)
      if (sleeper.at <= this.mono) {
        this.#sleepers.delete(sleeper)
        sleeper.wake()
      }
  }
}
