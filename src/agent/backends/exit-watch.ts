import type { Processes, ProcessIdentity } from '../os/process.ts'

/** An end nobody heard of otherwise is noticed within this. */
const LOOK_MS = 500

/** Tells of each watched process once that it ended, for hypervisors without a connection that closes. */
export class ExitWatch {
  readonly #processes: Processes
  readonly #watched = new Map<string, ProcessIdentity>()
  readonly #listeners = new Set<(vmId: string) => void>()
  readonly #ended: (vmId: string) => Promise<void>
  #timer: NodeJS.Timeout | undefined

  /** `ended` runs before anybody is told. */
  constructor(processes: Processes, ended: (vmId: string) => Promise<void>) {
    this.#processes = processes
    this.#ended = ended
  }

  onExit(fn: (vmId: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Idempotent for one process. */
  watch(vmId: string, identity: ProcessIdentity): void {
    this.#watched.set(vmId, identity)
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref()
  }

  /** Looks at this one now; resolves once its end, if it came, was told. */
  async check(vmId: string): Promise<void> {
    const identity = this.#watched.get(vmId)
    if (!identity || this.#mayLive(identity)) return
    this.#watched.delete(vmId)
    if (this.#watched.size === 0) this.close()
    await this.#ended(vmId).catch(() => {})
    for (const fn of this.#listeners) fn(vmId)
  }

  /** Watches nothing any more; who is watched again is told of again. */
  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** A look that fails says nothing; the next one may. */
  #mayLive(identity: ProcessIdentity): boolean {
    try {
      return this.#processes.alive(identity)
    } catch {
      return true
    }
  }

  async #look(): Promise<void> {
    await Promise.all([...this.#watched.keys()].map((vmId) => this.check(vmId)))
  }
}
