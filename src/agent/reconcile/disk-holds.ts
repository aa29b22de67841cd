/**
 * Keeps a VM whose disk is copied from being started, and one that is being started from being copied. In memory: an
 * agent that died copied and started nothing any more.
 */
export class DiskHolds {
  /** Source by the VM that is made from it. */
  readonly #copies = new Map<string, string>()
  readonly #starting = new Map<string, number>()
  readonly #listeners = new Set<(vmId: string) => void>()

  /** True = the disk of `source` stays as it is until `free(clone)`; false while it is being started. Idempotent. */
  hold(source: string, clone: string): boolean {
    if (this.#starting.has(source)) return false
    this.#copies.set(clone, source)
    return true
  }

  /** Idempotent. Whoever waited for the source is told. */
  free(clone: string): void {
    const source = this.#copies.get(clone)
    if (source === undefined) return
    this.#copies.delete(clone)
    if (this.holder(source) === undefined) for (const fn of this.#listeners) fn(source)
  }

  /** Which VM is made from the disk of this one; undefined = none is. */
  holder(source: string): string | undefined {
    for (const [clone, from] of this.#copies) if (from === source) return clone
    return undefined
  }

  /** Does `work` with the disk of the VM, which nobody begins to copy meanwhile; undefined = it is held. */
  async using<T>(vmId: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.holder(vmId) !== undefined) return undefined
    this.#starting.set(vmId, (this.#starting.get(vmId) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = this.#starting.get(vmId)! - 1
      if (left === 0) this.#starting.delete(vmId)
      else this.#starting.set(vmId, left)
    }
  }

  /** Called with a VM whose disk nobody copies any more; returns its stop function. */
  onFree(fn: (vmId: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }
}
