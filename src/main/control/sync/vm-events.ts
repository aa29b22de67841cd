import type { Clock } from '../../../ipc/base/clock.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import type { VmRow, VmStatus } from '../store/vm-row.ts'

/** A host that changes its mind all the time does not fill the trail. */
const MOST_PER_HOUR = 30
const HOUR_MS = 3_600_000
const SAID_CHARS = 300

/** Turns what changed of a VM by itself into rows of the trail: it is in trouble, it is in another, it is well again. */
export class VmEvents {
  readonly #add: (event: AuditEvent) => void
  readonly #clock: Clock
  readonly #written = new Map<string, { since: number; count: number }>()

  constructor(add: (event: AuditEvent) => void, clock: Clock) {
    this.#add = add
    this.#clock = clock
  }

  /** `known` = what the store held; `said` = the host's sentence. Nothing without a change of the reason. */
  note(
    vm: VmRow,
    known: VmStatus | undefined,
    next: VmStatus,
    told: { said: string; power: string | undefined },
  ): void {
    const before = known?.lastReason ?? ''
    const { lastReason: reason } = next
    if (before === reason) return
    // Stopped on purpose out of its trouble: that has its own row.
    if (reason === '' && told.power !== 'running') return
    if (!this.#mayWrite(vm.id)) return
    const detail = reason === '' ? { reason: before } : { reason, said: told.said.slice(0, SAID_CHARS) }
    this.#add({
      action: reason === '' ? 'vm.recovered' : 'vm.trouble',
      tenant: vm.tenant,
      vmId: vm.id,
      hostId: vm.hostId,
      detail: { name: vm.name, ...detail },
    })
  }

  forget(vmId: string): void {
    this.#written.delete(vmId)
  }

  #mayWrite(vmId: string): boolean {
    const now = this.#clock.monotonic()
    const window = this.#written.get(vmId)
    const current = window && now - window.since < HOUR_MS ? window : { since: now, count: 0 }
    if (current.count >= MOST_PER_HOUR) return false
    this.#written.set(vmId, { ...current, count: current.count + 1 })
    return true
  }
}
