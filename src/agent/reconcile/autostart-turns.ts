import type { BootTime } from './quarantine-clock.ts'

/** VMs of a later number wait this long, ms, for one of an earlier to come up once it may; then they start without it. */
export const AUTOSTART_WAIT_MS = 5 * 60_000
const NAMES_SHOWN = 3

/** A VM that the host starts by itself. */
export interface AutostartVm {
  vmId: string
  name: string
  /** Lower ones first, equal ones together. */
  order: number
  /** From the boot of the host, ms. */
  delayMs: number
  /** Neither up nor failed. */
  pending: boolean
}

export interface Waits {
  /** For people. */
  detail: string
  /** Uptime of the host at which it may be over, ms; undefined = when others are up. */
  untilMs: number | undefined
}

/** Whose turn it is after a boot of the host. Knows the host's uptime and no other clock. */
export class AutostartTurns {
  /** Uptime at which the turn of an order began, ms. */
  readonly #began = new Map<number, number>()
  #bootId = ''

  /** The order whose VMs have their turn; all below have had it. Infinity = everybody may start. */
  turn(vms: Iterable<AutostartVm>, now: BootTime): number {
    if (now.bootId !== this.#bootId) this.#began.clear()
    this.#bootId = now.bootId
    const latest = new Map<number, number>()
    for (const { order, delayMs, pending } of vms)
      if (pending) latest.set(order, Math.max(latest.get(order) ?? 0, delayMs))
    for (const [order, delayMs] of [...latest].sort(([a], [b]) => a - b)) {
      const began = Math.min(this.#began.get(order) ?? now.uptimeMs, now.uptimeMs)
      this.#began.set(order, began)
      if (now.uptimeMs < Math.max(began, delayMs) + AUTOSTART_WAIT_MS) return order
    }
    return Number.POSITIVE_INFINITY
  }

  /** Why this VM does not start yet; undefined = it may. */
  waits(vm: Pick<AutostartVm, 'order' | 'delayMs'>, vms: readonly AutostartVm[], now: BootTime): Waits | undefined {
    const turn = this.turn(vms, now)
    if (vm.order > turn) {
      const names = vms.filter(({ order, pending }) => order === turn && pending).map(({ name }) => name)
      const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : ''
      const untilMs = undefined
      return { detail: `starts by itself after ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`, untilMs }
    }
    if (now.uptimeMs >= vm.delayMs) return undefined
    return { detail: `starts by itself ${vm.delayMs / 1000} s after its host booted`, untilMs: vm.delayMs }
  }
}
