import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'

/** Most this host gives to VMs together; 0 = unlimited. */
export interface Caps {
  vcpus: number
  /** MiB. */
  memMb: number
  /** GiB. */
  diskGb: number
}

type Size = Pick<VmSpec, 'vmId' | 'vcpus' | 'memMb' | 'diskGb'>

const DIMENSIONS = [
  { key: 'vcpus', words: 'vCPUs' },
  { key: 'memMb', words: 'MiB of memory' },
  { key: 'diskGb', words: 'GiB of disk' },
] as const

/** Who holds how much of the host. Synchronous, so that two creates of one tick cannot both take the last room. */
export class QuotaLedger {
  readonly #caps: Caps
  readonly #held = new Map<string, Size>()

  constructor(caps: Caps) {
    this.#caps = caps
  }

  /** Counts a VM that exists already, over the caps or not. */
  note(spec: Size): void {
    this.#held.set(spec.vmId, spec)
  }

  holds(vmId: string): boolean {
    return this.#held.has(vmId)
  }

  /** Idempotent. */
  release(vmId: string): void {
    this.#held.delete(vmId)
  }

  /** Commits the VM's size and returns ''; or commits nothing and says which dimension has no room. */
  admit(spec: Size): string {
    for (const { key, words } of DIMENSIONS) {
      const cap = this.#caps[key]
      if (cap === 0) continue
      let others = 0
      for (const [id, size] of this.#held) if (id !== spec.vmId) others += size[key]
      if (others + spec[key] > cap) return `${spec[key]} ${words} wanted, ${Math.max(0, cap - others)} of ${cap} free`
    }
    this.#held.set(spec.vmId, spec)
    return ''
  }
}
