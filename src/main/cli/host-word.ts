import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import { Fault, faultFromData } from '../../ipc/faults.ts'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { TIMES } from '../../ipc/units.ts'

/** Links that come back by themselves, or not at all without a person. */
const NEEDS_A_PERSON = ['held_by_other', 'sign_in_needed', 'key_not_trusted', 'key_changed', 'identity_mismatch']
/** A failure that a change was to end, and that its host still reports this long after it knew of the change, is real. */
const DOUBT_MS = 2 * TIMES.reportMs

/** Why nothing that is asked reaches a host; undefined = it is sent what is wanted. */
export const heldBack = ({ name, newerData }: Host): Fault | undefined =>
  newerData && new Fault('host/newer-data', 'permanent', { host: name })

/** Judges over one wait whether what a host says of a VM is an answer to what was asked before the wait began. */
export class HostWord {
  /** Aborts with the failure that was doubted, once it is real. */
  readonly believed = new AbortController()
  readonly #clock: Clock
  readonly #asked: boolean
  #epoch: bigint | undefined
  #wasThere = false
  /** It was failed already when it was asked to change. */
  #oldFailure: boolean | undefined
  #doubt: AbortController | undefined

  /** `asked` = the VM was asked to change just before. */
  constructor(asked: boolean, clock: Clock = systemClock) {
    this.#asked = asked
    this.#clock = clock
  }

  /** The report was made with everything that was wanted when the wait began. */
  isAnswer(host: Host | undefined): boolean {
    if (!host) return true
    if (heldBack(host)) return !this.#asked
    this.#epoch ??= host.epoch
    return host.reportedEpoch !== undefined && host.reportedEpoch >= this.#epoch
  }

  /** Whether it failed of what it was asked; an old failure that stays is told by `believed`. */
  isFailure(vm: Vm, host: Host | undefined, fault: (vm: Vm) => Fault): boolean {
    const failed = vm.lifecycle === 'failed'
    this.#oldFailure ??= this.#asked && failed
    if (!failed) {
      this.#oldFailure = false
      this.end()
    }
    if (!this.#oldFailure) return failed
    if (!this.#doubt && this.isAnswer(host)) void this.#believeLater(fault(vm))
    return false
  }

  /** Why nothing can be heard of the VM; a link that breaks during the wait has time to come back. */
  silence(host: Host | undefined): Fault | undefined {
    if (!host || host.link === 'connecting') return undefined
    if (host.link === 'connected') {
      this.#wasThere = true
      return this.#asked ? heldBack(host) : undefined
    }
    const { name, link, linkFault } = host
    const comesBack = !NEEDS_A_PERSON.includes(link) || linkFault?.code === 'agent/superseded'
    if (!linkFault || (this.#wasThere && comesBack)) return undefined
    return faultFromData({ ...linkFault, params: { host: name, ...linkFault.params } })
  }

  end(): void {
    this.#doubt?.abort()
  }

  async #believeLater(fault: Fault): Promise<void> {
    this.#doubt = new AbortController()
    const { signal } = this.#doubt
    await this.#clock.sleep(DOUBT_MS, signal).catch(() => {})
    if (!signal.aborted) this.believed.abort(fault)
  }
}
