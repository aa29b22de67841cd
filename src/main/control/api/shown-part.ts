import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'

/** One part of each VM that travels alone when nothing else of it changed. A VM that keeps still costs watchers nothing. */
export class ShownPart<T> {
  readonly #of: (vm: Vm) => T | undefined
  readonly #isNotable: (shown: T, now: T) => boolean
  readonly #shown = new Map<string, T | undefined>()

  /** `isNotable` = a person would see the difference. */
  constructor(of: (vm: Vm) => T | undefined, isNotable: (shown: T, now: T) => boolean) {
    this.#of = of
    this.#isNotable = isNotable
  }

  reset(vms: readonly Vm[]): void {
    this.#shown.clear()
    this.sent(vms)
  }

  /** These travel as whole rows, with this part. */
  sent(vms: readonly Vm[]): void {
    for (const vm of vms) this.#shown.set(vm.id, this.#of(vm))
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#shown.delete(id)
  }

  /** The parts to send, counted as shown; those of VMs never sent wait for their row. */
  take(vms: readonly Vm[]): { vmId: string; part: T | undefined }[] {
    return vms.flatMap((vm) => {
      if (!this.#shown.has(vm.id)) return []
      const shown = this.#shown.get(vm.id)
      const part = this.#of(vm)
      const same = shown === undefined || part === undefined ? shown === part : !this.#isNotable(shown, part)
      if (same) return []
      this.#shown.set(vm.id, part)
      return [{ vmId: vm.id, part }]
    })
  }
}
