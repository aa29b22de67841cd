import type { Size } from '../records/vm-record.ts'

/** Most this host gives to VMs together; 0 = unlimited. */
export type Caps = Size

type SizedVm = Size & { vmId: string }

const DIMENSIONS = [
  { key: 'vcpus', words: 'vCPUs' },
  { key: 'memMb', words: 'MiB of memory' },
  { key: 'diskGb', words: 'GiB of disk' },
] as const

/** Who holds how much of the host. Synchronous, so that two creates of one tick cannot both take the last room. */
export class QuotaLedger {
  readonly #caps: Caps
  readonly #held = new Map<string, SizedVm>()

  constructor(caps: Caps) {
    this.#caps = caps
  }

  /** Counts what a VM was admitted with before, over the caps or not. */
  note({ vmId, vcpus, memMb, diskGb }: SizedVm): void {
    this.#held.set(vmId, { vmId, vcpus, memMb, diskGb })
  }

  /** Undefined = it holds nothing. */
  held(vmId: string): Size | undefined {
    return this.#held.get(vmId)
  }

  holders(): string[] {
    return [...this.#held.keys()]
  }

  /** Idempotent. */
  release(vmId: string): void {
    this.#held.delete(vmId)
  }

  /**
   * Commits the VM's size and returns ''; or commits nothing and says which dimension has no room. What a VM holds
   * already it is never refused: caps lowered since do not keep it from starting again, only from growing.
   */
  admit(spec: SizedVm): string {
    const own = this.#held.get(spec.vmId)
    for (const { key, words } of DIMENSIONS) {
      const cap = this.#caps[key]
      if (cap === 0 || (own && spec[key] <= own[key])) continue
      let others = 0
      for (const [id, size] of this.#held) if (id !== spec.vmId) others += size[key]
      if (others + spec[key] > cap) return `${spec[key]} ${words} wanted, ${Math.max(0, cap - others)} of ${cap} free`
    }
    this.note(spec)
    return ''
  }
}
