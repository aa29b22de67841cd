import { Fault } from '../../ipc/faults.ts'
import type { GuestSeen, Protocol } from './exposure-plan.ts'

/** Where a port of a guest is dialled from this host. */
export interface Target {
  host: string
  port: number
}

export interface ReachParts {
  /** Differs for each run of its process; '' = none runs. */
  run(vmId: string): string
  /** Of the guest on the guests' network. '' = not known. */
  address(vmId: string): string
  /** Way into a guest in user-mode networking, which has no address. Absent = there are no such guests here. */
  forward?(vmId: string, protocol: Protocol, guestPort: number): Promise<number>
}

/** Ways known at once; one more forgets them all, and each is asked for again. */
const MAX_WAYS = 2_000

/** The way to a guest's ports. */
export class Reach {
  readonly #parts: ReachParts
  /** Loopback ports a hypervisor forwards, as long as this run of it lasts. */
  readonly #ways = new Map<string, { run: string; port: Promise<number> }>()

  constructor(parts: ReachParts) {
    this.#parts = parts
  }

  /** What of the guest decides whether its ports can be open now. */
  seen(vmId: string): GuestSeen {
    const known = this.#parts.forward !== undefined || this.#parts.address(vmId) !== ''
    return { run: this.#parts.run(vmId), unreachable: known ? '' : 'The address of the VM is not known yet.' }
  }

  /** Idempotent. Raises port/no-way; never a target without an address. */
  async target(vmId: string, protocol: Protocol, guestPort: number): Promise<Target> {
    const noWay = (detail: string, cause?: unknown) =>
      new Fault('port/no-way', 'transient', { vm: vmId, detail }, { cause })
    if (this.#parts.run(vmId) === '') throw noWay('it is not running')
    const host = this.#parts.address(vmId)
    if (host !== '') return { host, port: guestPort }
    if (!this.#parts.forward) throw noWay('its address is not known yet')
    try {
      return { host: '127.0.0.1', port: await this.#way(vmId, protocol, guestPort) }
    } catch (error) {
      throw noWay(error instanceof Error ? error.message : String(error), error)
    }
  }

  #way(vmId: string, protocol: Protocol, guestPort: number): Promise<number> {
    const key = `${vmId}/${protocol}/${guestPort}`
    const run = this.#parts.run(vmId)
    const known = this.#ways.get(key)
    if (known?.run === run) return known.port
    const way = { run, port: this.#parts.forward!(vmId, protocol, guestPort) }
    if (this.#ways.size >= MAX_WAYS) this.#ways.clear()
    this.#ways.set(key, way)
    way.port.catch(() => this.#ways.get(key) === way && this.#ways.delete(key))
    return way.port
  }
}
