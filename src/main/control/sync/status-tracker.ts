import type { VmStatus } from '../store/vm-row.ts'

/** Remembers what was last written durably per VM, so that repeated reports write nothing. Only successful writes enter. */
export class StatusTracker {
  readonly #written = new Map<string, VmStatus>()
  readonly #read: (vmId: string) => VmStatus | undefined

  /** `read` gives what the store holds, for VMs not met yet. */
  constructor(read: (vmId: string) => VmStatus | undefined) {
    this.#read = read
  }

  /** Writes unless it is what the store already holds; `write` gets what that is and answers the address really stored. */
  apply(vmId: string, next: VmStatus, write: (status: VmStatus, known: VmStatus | undefined) => { ip: string }): void {
    const known = this.#written.get(vmId) ?? this.#read(vmId)
    if (known) this.#written.set(vmId, known)
    if (known && same(known, next)) return
    const { ip } = write(next, known)
    this.#written.set(vmId, { ...next, ip })
  }

  forget(vmId: string): void {
    this.#written.delete(vmId)
  }

  clear(): void {
    this.#written.clear()
  }

  get size(): number {
    return this.#written.size
  }
}

const same = (known: VmStatus, next: VmStatus): boolean =>
  known.status === next.status &&
  known.lastError === next.lastError &&
  known.lastReason === next.lastReason &&
  (next.ip === '' || next.ip === known.ip)

/** The same for one text fact per key; empty says nothing. */
export class FactTracker {
  readonly #written = new Map<string, string>()

  apply(key: string, value: string, write: (value: string) => void): void {
    if (value === '' || this.#written.get(key) === value) return
    write(value)
    this.#written.set(key, value)
  }

  forget(key: string): void {
    this.#written.delete(key)
  }

  clear(): void {
    this.#written.clear()
  }
}
