/** A viewer as far as the keyboard goes. */
export interface KeyboardViewer {
  readonly readOnly: boolean
  /** Told once at joining and at every change that concerns it. */
  keyboard(holder: boolean): void
}

/** Who may type into which VM: the first viewer that is not read-only, until another takes over or it leaves. */
export class Keyboards {
  readonly #vms = new Map<string, { viewers: Set<KeyboardViewer>; holder: KeyboardViewer | undefined }>()

  join(vmId: string, viewer: KeyboardViewer): void {
    const vm = this.#vms.get(vmId) ?? { viewers: new Set(), holder: undefined }
    this.#vms.set(vmId, vm)
    vm.viewers.add(viewer)
    if (vm.holder === undefined && !viewer.readOnly) vm.holder = viewer
    viewer.keyboard(vm.holder === viewer)
  }

  /** The oldest viewer left that is not read-only gets a keyboard let go. Idempotent. */
  leave(vmId: string, viewer: KeyboardViewer): void {
    const vm = this.#vms.get(vmId)
    if (!vm?.viewers.delete(viewer)) return
    if (vm.viewers.size === 0) this.#vms.delete(vmId)
    if (vm.holder !== viewer) return
    vm.holder = [...vm.viewers].find((other) => !other.readOnly)
    vm.holder?.keyboard(true)
  }

  /** Asking is enough, even for a viewer that joined read-only: the one before is told. */
  take(vmId: string, viewer: KeyboardViewer): void {
    const vm = this.#vms.get(vmId)
    if (!vm?.viewers.has(viewer) || vm.holder === viewer) return
    const before = vm.holder
    vm.holder = viewer
    before?.keyboard(false)
    viewer.keyboard(true)
  }

  holds(vmId: string, viewer: KeyboardViewer): boolean {
    return this.#vms.get(vmId)?.holder === viewer
  }
}
