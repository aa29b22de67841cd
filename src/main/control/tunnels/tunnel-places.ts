import { Fault } from '../../../ipc/faults.ts'

/** At once. The agent serves 64 of a host in all; one VM may not use all of them up. */
export const TUNNELS: TunnelLimits = { perVm: 32, perHost: 64, inAll: 512 }

export interface TunnelLimits {
  perVm: number
  perHost: number
  inAll: number
}

export interface TunnelVm {
  readonly id: string
  readonly name: string
  readonly hostId: string
  readonly hostName: string
}

/** Counts tunnels that are open or being opened. */
export class TunnelPlaces {
  readonly #limits: TunnelLimits
  readonly #open = new Map<string, number>()
  #inAll = 0

  constructor(limits: TunnelLimits = TUNNELS) {
    this.#limits = limits
  }

  /** Returns what gives the place back, once. Raises port/too-many where there is none. */
  take(vm: TunnelVm): () => void {
    const { perVm, perHost, inAll } = this.#limits
    const full = (limit: number, to: string) =>
      new Fault('port/too-many', 'transient', { vm: vm.name, limit: String(limit), to })
    if (this.#of(vm.id) >= perVm) throw full(perVm, vm.name)
    if (this.#of(vm.hostId) >= perHost) throw full(perHost, `VMs of ${vm.hostName}`)
    if (this.#inAll >= inAll) throw full(inAll, 'VMs')
    this.#count(vm, 1)
    let held = true
    return () => {
      if (held) this.#count(vm, -1)
      held = false
    }
  }

  #of(id: string): number {
    return this.#open.get(id) ?? 0
  }

  #count({ id, hostId }: TunnelVm, by: 1 | -1): void {
    this.#inAll += by
    for (const key of [id, hostId]) {
      const now = this.#of(key) + by
      if (now === 0) this.#open.delete(key)
      else this.#open.set(key, now)
    }
  }
}
