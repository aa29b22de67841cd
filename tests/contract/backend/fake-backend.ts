import { mkdir, writeFile } from 'node:fs/promises'
import type {
  Backend,
  Booted,
  BootRequest,
  Capabilities,
  CloneRequest,
  Complaint,
  RunningVm,
  StopOptions,
} from '../../../src/agent/backends/backend.ts'
import type { BootImage } from '../../../src/agent/images/image-cache.ts'
import type { VmLayout } from '../../../src/agent/records/layout.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import type { VmSpec } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { GiB } from '../../../src/ipc/units.ts'

type Action = 'preflight' | 'prepareRootDisk' | 'cloneRootDisk' | 'growDisk' | 'boot' | 'shutdown' | 'destroy'

async function writeDiskFile(vm: VmLayout): Promise<void> {
  await mkdir(vm.dir, { recursive: true })
  await writeFile(vm.disk, `disk of ${vm.id}`)
}

const forever = () => new Promise<never>(() => {})

/** Guests in memory. Everything done is in `calls`; `fail` and `hold` make the next of an action fail or wait. */
export class FakeBackend implements Backend {
  readonly name = 'fake'
  readonly capabilities: Capabilities = {
    suspend: false,
    shares: false,
    serialInput: true,
    nested: true,
    addressSource: 'none',
    survivesAgentRestart: true,
    liveForward: false,
  }
  readonly calls: string[] = []
  readonly guests: Map<string, RunningVm>
  readonly addresses = new Map<string, string>()
  readonly networkAddresses = new Map<string, string>()
  /** Guests in it do not answer the power button. */
  readonly deaf = new Set<string>()
  reason = ''
  clean = false
  trouble: Complaint | undefined
  readonly #failures = new Map<Action, unknown[]>()
  readonly #holds = new Map<Action, Promise<void>>()
  readonly #listeners = new Set<(vmId: string) => void>()
  readonly #writeDisk: (vm: VmLayout) => Promise<void>
  #killed = false

  /** `guests` outlive this backend when they are another's too. */
  constructor({ guests = new Map<string, RunningVm>(), writeDisk = writeDiskFile } = {}) {
    this.guests = guests
    this.#writeDisk = writeDisk
  }

  /** Its agent died: nothing under way takes effect or answers any more. */
  kill(): void {
    this.#killed = true
    this.#listeners.clear()
  }

  /** The next `times` calls of the action throw. */
  fail(action: Action, error: unknown, times = 1): void {
    this.#failures.set(action, Array(times).fill(error))
  }

  /** Calls of the action wait for the returned release. */
  hold(action: Action): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#holds.set(action, promise)
    return () => {
      this.#holds.delete(action)
      resolve()
    }
  }

  /** The guest ends by itself; clean = it powered itself off. */
  crash(vmId: string, reason = '', clean = false): void {
    this.guests.delete(vmId)
    this.reason = reason
    this.clean = clean
    for (const fn of this.#listeners) fn(vmId)
  }

  async preflight(signal: AbortSignal): Promise<void> {
    await this.#do('preflight', '', signal)
  }

  async prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void> {
    await this.#do('prepareRootDisk', vm.id, signal)
    if (image.kind === 'disk' && image.virtualBytes > spec.diskGb * GiB)
      throw new Fault('image/too-big-for-disk', 'permanent', { needed: 'more', disk: `${spec.diskGb} GiB` })
    await this.#writeDisk(vm)
  }

  async cloneRootDisk({ vm, source, requireRoom, progress }: CloneRequest, signal: AbortSignal): Promise<void> {
    await requireRoom(1_000)
    progress(250, 1_000)
    await this.#do('cloneRootDisk', `${vm.id} ${source.vm.id}`, signal)
    await this.#writeDisk(vm)
  }

  /** Of a guest in `stiff` only once it is off. */
  readonly stiff = new Set<string>()
  async growDisk(vm: VmLayout, diskGb: number, signal: AbortSignal): Promise<boolean> {
    if (this.guests.has(vm.id) && this.stiff.has(vm.id)) return false
    await this.#do('growDisk', `${vm.id} ${diskGb}`, signal)
    return true
  }

  async boot({ vm, machine }: BootRequest, signal: AbortSignal): Promise<Booted> {
    const known = this.guests.get(vm.id)
    if (known) return { ...known, machine: machine || 'fake-1' }
    await this.#do('boot', vm.id, signal)
    const running = { acceleration: 'tcg', startedAt: new Date(0) }
    this.guests.set(vm.id, running)
    return { ...running, machine: machine || 'fake-1' }
  }

  async shutdown(vm: VmLayout, { graceMs, hurry }: StopOptions, signal: AbortSignal): Promise<void> {
    await this.#do('shutdown', `${vm.id} ${graceMs}`, signal)
    if (graceMs > 0 && this.deaf.has(vm.id) && !hurry.aborted)
      await new Promise<void>((resolve, reject) => {
        hurry.addEventListener('abort', () => resolve(), { once: true })
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    if (this.#killed) await forever()
    this.guests.delete(vm.id)
  }

  async destroy(vm: VmLayout): Promise<void> {
    await this.#do('destroy', vm.id)
    this.guests.delete(vm.id)
  }

  async running(vm: VmLayout): Promise<RunningVm | undefined> {
    return this.guests.get(vm.id)
  }
  async failureReason(): Promise<string> {
    return this.reason
  }
  endedCleanly(): boolean {
    return this.clean
  }
  complaint(): Complaint | undefined {
    return this.trouble
  }
  async address(vm: VmLayout): Promise<string> {
    return this.addresses.get(vm.id) ?? ''
  }
  async networkAddress(vm: VmLayout): Promise<string> {
    return this.networkAddresses.get(vm.id) ?? ''
  }
  onExit(fn: (vmId: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }
  async close(): Promise<void> {}

  async #do(action: Action, what: string, signal?: AbortSignal): Promise<void> {
    this.calls.push(`${action} ${what}`.trim())
    const hold = this.#holds.get(action)
    if (hold && signal)
      await Promise.race([
        hold,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
      ])
    else await hold
    if (this.#killed) await forever()
    signal?.throwIfAborted()
    const error = this.#failures.get(action)?.shift()
    if (error !== undefined) throw error
  }
}
