import { create } from '@bufbuild/protobuf'
import type { BootRequest, RunningVm, StopOptions } from '../../../../../src/agent/backends/backend.ts'
import type { BootImage } from '../../../../../src/agent/images/image-cache.ts'
import { CreateSlots } from '../../../../../src/agent/reconcile/create-slots.ts'
import { Engine } from '../../../../../src/agent/reconcile/engine.ts'
import { type Caps, QuotaLedger } from '../../../../../src/agent/reconcile/quota.ts'
import { fileDesired } from '../../../../../src/agent/records/desired-state.ts'
import { agentLayout, type VmLayout } from '../../../../../src/agent/records/layout.ts'
import { decodeRecord, type VmRecord } from '../../../../../src/agent/records/vm-record.ts'
import { fileRecords } from '../../../../../src/agent/records/vm-records.ts'
import type { Clock } from '../../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { DesiredStateSchema, SnapshotSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { FakeBackend } from '../../../../contract/backend/fake-backend.ts'
import { UserNetwork } from '../../../../support/user-network.ts'
import { Life, MemoryDisk } from './memory-files.ts'

export const HELD = ['preflight', 'prepareRootDisk', 'boot', 'shutdown', 'destroy'] as const
export type Held = (typeof HELD)[number]
const SLOTS = 1

/** What looks at every act on the host, at the moment of the act. */
export interface Watcher {
  onBoot(vm: VmLayout, spec: VmSpec): void
  onEnd(vm: VmLayout, how: 'shutdown' | 'destroy'): void
  onDisk(vm: VmLayout): void
  onPurge(dir: string): void
  onBusy(vm: VmLayout, how: string): void
}

/** A clock whose sleepers wake when the world's uptime moves. */
class WorldClock implements Clock {
  readonly #world: World
  readonly #sleepers = new Set<{ at: number; wake(): void }>()
  constructor(world: World) {
    this.#world = world
  }
  now = () => this.#world.wall
  monotonic = () => this.#world.uptimeMs
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.#world.uptimeMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      signal?.addEventListener(
        'abort',
        () => {
          this.#sleepers.delete(sleeper)
          reject(signal.reason)
        },
        { once: true },
      )
    })
  }
  wake(): void {
    for (const sleeper of this.#sleepers)
      if (sleeper.at <= this.#world.uptimeMs) {
        this.#sleepers.delete(sleeper)
        sleeper.wake()
      }
  }
}

/** The fake backend, watched: at most one operation at a time on one VM, each judged before it takes effect. */
class WatchedBackend extends FakeBackend {
  readonly #world: World
  readonly #busy = new Set<string>()

  constructor(world: World) {
    super({ guests: world.guests, writeDisk: async (vm) => void world.disk.files.set(vm.disk, `disk of ${vm.id}`) })
    this.#world = world
  }
  override prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void> {
    return this.#alone(vm, 'prepare', async () => {
      this.#world.watcher.onDisk(vm)
      await super.prepareRootDisk(vm, spec, image, signal)
    })
  }
  override boot(request: BootRequest, signal: AbortSignal) {
    return this.#alone(request.vm, 'boot', async () => {
      this.#world.watcher.onBoot(request.vm, request.spec)
      return await super.boot(request, signal)
    })
  }
  override shutdown(vm: VmLayout, options: StopOptions, signal: AbortSignal): Promise<void> {
    return this.#alone(vm, 'shutdown', async () => {
      this.#world.watcher.onEnd(vm, 'shutdown')
      await super.shutdown(vm, options, signal)
    })
  }
  override destroy(vm: VmLayout): Promise<void> {
    return this.#alone(vm, 'destroy', async () => {
      this.#world.watcher.onEnd(vm, 'destroy')
      await super.destroy(vm)
    })
  }
  async #alone<T>(vm: VmLayout, how: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(vm.id)) this.#world.watcher.onBusy(vm, how)
    this.#busy.add(vm.id)
    try {
      return await work()
    } finally {
      this.#busy.delete(vm.id)
    }
  }
}

/** An agent while it lives. */
interface Agent {
  life: Life
  backend: WatchedBackend
  clock: WorldClock
  slots: CreateSlots
  ledger: QuotaLedger
  engine: Engine
}

/** A host in memory: what is on its disk and in its processes outlives the agents that come and go on it. */
export class World {
  readonly layout = agentLayout('/state')
  readonly disk = new MemoryDisk()
  readonly guests = new Map<string, RunningVm>()
  readonly images = new Set<string>()
  readonly deaf = new Set<string>()
  readonly identity = { epoch: 0n, digest: '' }
  caps: Caps = { vcpus: 0, memMb: 0, diskGb: 0 }
  wall = Date.UTC(2026, 0, 1)
  boot = 1
  uptimeMs = 60_000
  watcher!: Watcher
  agent!: Agent
  readonly #releases = new Map<Held, () => void>()

  get bootId(): string {
    return `boot-${this.boot}`
  }

  /** Everything that waits for nothing but other promises has happened. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** A new agent takes up what is there. */
  async begin(): Promise<void> {
    const life = new Life()
    const clock = new WorldClock(this)
    const backend = new WatchedBackend(this)
    for (const id of this.deaf) backend.deaf.add(id)
    const slots = new CreateSlots(SLOTS)
    const ledger = new QuotaLedger(this.caps)
    const files = this.disk.mount(life)
    const listeners = new Set<(sha256: string) => void>()
    this.pushed = (sha256) => {
      for (const fn of listeners) fn(sha256)
    }
    const gone = () => new Promise<never>(() => {})
    const engine = new Engine({
      passes: {
        layout: this.layout,
        records: fileRecords(this.layout, files),
        backend,
        network: new UserNetwork(),
        images: {
          stat: (sha256) => ({ haveBytes: 0, complete: this.images.has(sha256) }),
          fetch: async (_url, sha256, _progress, signal) => {
            signal.throwIfAborted()
            if (life.dead) await gone()
            this.images.add(sha256)
          },
          requireRoom: async () => {},
          bootImage: async (sha256) => {
            if (!this.images.has(sha256)) throw new Fault('image/not-found', 'permanent', { image: sha256 })
            return { kind: 'disk', file: `/images/${sha256}`, format: 'raw', virtualBytes: 512 }
          },
        },
        seeds: { write: async () => {}, hostKey: async (_path, name) => ({ privateKey: 'P', publicKey: `K ${name}` }) },
        ledger,
        slots,
        processes: { bootId: () => this.bootId, uptimeMs: () => this.uptimeMs },
        clock,
        log: silentLog,
        stopGraceMs: 60_000,
      },
      desired: fileDesired(this.layout.desired, files),
      epochs: this.#epochs(life),
      images: {
        list: () => [],
        onComplete: (fn) => {
          listeners.add(fn)
          return () => listeners.delete(fn)
        },
      },
      capacity: () => undefined,
      consoleEnd: () => 0n,
    })
    this.agent = { life, backend, clock, slots, ledger, engine }
    this.#releases.clear()
    void engine.start({ tick: false })
    await this.settle()
  }

  /** An image became whole, as the agent that lives hears it. */
  pushed: (sha256: string) => void = () => {}

  /** SIGKILL. */
  kill(): void {
    this.agent.life.dead = true
    this.agent.backend.kill()
  }

  reboot(): void {
    this.kill()
    this.guests.clear()
    this.boot++
    this.uptimeMs = 300_000
  }

  async advance(ms: number): Promise<void> {
    this.uptimeMs += ms
    this.wall += ms
    this.agent.clock.wake()
    await this.settle()
  }

  async tick(): Promise<void> {
    void this.agent.engine.dispatch().catch(() => {})
    await this.settle()
  }

  /** What came of it by the time nothing moves; 'open' = nobody knows. */
  async send(epoch: bigint, vms: readonly VmSpec[]): Promise<'accepted' | 'fenced' | 'refused' | 'open'> {
    let outcome: 'accepted' | 'fenced' | 'refused' | 'open' = 'open'
    const snapshot = create(SnapshotSchema, { epoch, state: create(DesiredStateSchema, { vms: [...vms] }) })
    this.agent.engine.accept(snapshot).then(
      (said) => {
        outcome = said
      },
      () => {
        outcome = 'refused'
      },
    )
    await this.settle()
    return outcome
  }

  isHeld(action?: Held): boolean {
    return action ? this.#releases.has(action) : this.#releases.size > 0
  }

  hold(action: Held): void {
    if (!this.#releases.has(action)) this.#releases.set(action, this.agent.backend.hold(action))
  }

  async release(): Promise<void> {
    for (const release of this.#releases.values()) release()
    this.#releases.clear()
    await this.settle()
  }

  /** Whether no VM has work under way. */
  async isIdle(): Promise<boolean> {
    let idle = false
    void this.agent.engine.idle().then(() => {
      idle = true
    })
    await Promise.resolve()
    await Promise.resolve()
    return idle
  }

  /** The record on the disk, whatever the agent can or cannot read. */
  recordOf(vmId: string): VmRecord | undefined {
    const text = this.disk.files.get(this.layout.vmDir(vmId).record)
    return text === undefined ? undefined : decodeRecord(text.toString())
  }

  #epochs(life: Life) {
    const { identity, disk } = this
    return {
      get epoch() {
        return identity.epoch
      },
      get epochDigest() {
        return identity.digest
      },
      async raiseEpoch(epoch: bigint, digest: string) {
        if (life.dead) await new Promise<never>(() => {})
        if (disk.full) throw new Error('ENOSPC')
        Object.assign(identity, { epoch, digest })
      },
    }
  }
}
