import { isDeepStrictEqual } from 'node:util'
import { create } from '@bufbuild/protobuf'
import { asFault } from '../../ipc/faults.ts'
import type { Capacity } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import {
  type DesiredState,
  DesiredStateSchema,
  type Report,
  type Snapshot,
  SnapshotSchema,
} from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { TIMES } from '../../ipc/units.ts'
import type { DesiredStore } from '../records/desired-state.ts'
import { checkedState, digestOf, isFenced } from './fence.ts'
import type { PassDeps } from './pass-deps.ts'
import { buildReport } from './report.ts'
import { type Assignment, hurries, runVmPass, supersedes } from './vm-pass.ts'
import type { Wanted } from './vm-plan.ts'
import type { VmResult } from './vm-result.ts'
import { VmWorker } from './vm-worker.ts'

/** Longest one pass over one VM may take, ms: above the 10 minutes a first image download is allowed. */
const PASS_TIMEOUT_MS = 15 * 60_000
const NOTHING_WANTED: DesiredState = create(DesiredStateSchema)

/** The identity's memory of what was accepted; `raiseEpoch` is durable before it resolves. */
export interface EpochKeeper {
  readonly epoch: bigint
  readonly epochDigest: string
  raiseEpoch(epoch: bigint, digest: string): Promise<void>
}

export interface EngineOptions {
  passes: PassDeps
  desired: DesiredStore
  epochs: EpochKeeper
  images: { list(): { sha256: string; sizeBytes: number }[]; onComplete(fn: (sha256: string) => void): () => void }
  capacity(): Capacity | undefined
  /** Highest serial byte recorded. */
  consoleEnd(vmId: string): bigint
  /** A VM's directory is gone. */
  forgotten?(vmId: string): void
  /** Sentences of other parts for the report. */
  notices?(): string[]
  passTimeoutMs?: number
}

/** Routes the desired state to one worker per VM and gathers what they found. Does no slow work itself. */
export class Engine {
  readonly #options: EngineOptions
  readonly #workers = new Map<string, VmWorker<Assignment, VmResult>>()
  readonly #listeners = new Set<() => void>()
  readonly #unreadable = new Map<string, string>()
  readonly #stopping = new AbortController()
  readonly #unsubscribe: (() => void)[] = []
  #desired: DesiredState | undefined
  #wanted: ReadonlyMap<string, Wanted> = new Map()
  #recorded: ReadonlySet<string> = new Set()
  #fenced = false
  #accepting: Promise<unknown> = Promise.resolve()
  #ticking: Promise<void> | undefined

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** Takes up what an earlier agent left and works on it; resolves once every VM has its assignment. */
  async start({ tick = true } = {}): Promise<void> {
    const { passes, desired, epochs, images } = this.#options
    const snapshot = await desired.load()
    // Newer than anything this owner ever sent: an older owner's, who was told to go just before the agent ended.
    const left = snapshot !== undefined && snapshot.epoch > epochs.epoch
    this.#want(left ? NOTHING_WANTED : snapshot?.state)
    for (const id of await passes.records.list()) {
      const read = await passes.records.read(id)
      if (read.kind === 'record' && !read.record.quarantine) passes.ledger.note(read.record.spec)
      if (read.kind === 'unreadable') this.#cannotRead(id, read.error)
    }
    this.#unsubscribe.push(
      images.onComplete((sha256) => this.#imageCame(sha256)),
      passes.backend.onExit((vmId) => this.#deliver(vmId)),
    )
    await this.dispatch()
    if (tick) this.#ticking = this.#tick()
  }

  /** Resolves when every pass has ended; guests run on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const stop of this.#unsubscribe) stop()
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()))
    await this.#ticking
  }

  /** Routes only; a snapshot is durable before it counts. Raises `input/invalid` for a malformed one. */
  accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'> {
    const next = this.#accepting.then(() => this.#accept(snapshot))
    this.#accepting = next.catch(() => {})
    return next
  }

  /** The agent has a new owner, durably: until its first snapshot every VM is unowned and goes on as it is. */
  disown(): Promise<void> {
    const next = this.#accepting.then(async () => {
      this.#fenced = false
      this.#want(NOTHING_WANTED)
      await this.#options.desired.save(create(SnapshotSchema, { epoch: 0n, state: NOTHING_WANTED }))
      await this.dispatch()
    })
    this.#accepting = next.catch(() => {})
    return next
  }

  /** From the last results, at once. */
  report(): Report {
    const { passes, images, epochs, capacity, consoleEnd } = this.#options
    const ids = new Set([...this.#recorded, ...this.#workers.keys()])
    return buildReport({
      epoch: epochs.epoch,
      fenced: this.#fenced,
      results: new Map([...ids].filter((id) => this.#shown(id)).map((id) => [id, this.#workers.get(id)?.result])),
      destroyed: [...this.#wanted]
        .filter(([id, { kind }]) => kind === 'tombstone' && this.#isGone(id))
        .map(([id]) => id),
      capacity: capacity(),
      images: images.list(),
      imageBytes: (sha256) => passes.images.stat(sha256).haveBytes,
      consoleEnd,
      bootId: passes.processes.bootId(),
      now: passes.clock.now(),
      notices: [...this.#unreadable.values(), ...(this.#options.notices?.() ?? [])],
    })
  }

  /** Calls `fn` after each result that differs from the one before; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** 0 = none yet. */
  lastSeenEpoch(): bigint {
    return this.#options.epochs.epoch
  }

  capacity(): Capacity | undefined {
    return this.#options.capacity()
  }

  /** True while something of the VM is on this host. */
  has(vmId: string): boolean {
    const result = this.#workers.get(vmId)?.result
    return result ? !result.gone : this.#recorded.has(vmId)
  }

  /** Resolves when no VM has work under way. */
  async idle(): Promise<void> {
    const busy = () => [...this.#workers.values()].filter((worker) => !worker.idle)
    for (let work = busy(); work.length > 0; work = busy()) await Promise.all(work.map((worker) => worker.done()))
  }

  /** Gives every VM its assignment again; the one thing a tick waits for is the list of records. */
  async dispatch(): Promise<void> {
    this.#recorded = new Set(await this.#options.passes.records.list())
    for (const id of new Set([...this.#recorded, ...this.#wanted.keys()])) this.#deliver(id)
    this.#reapAbsent()
  }

  async #accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'> {
    const { epochs, desired } = this.#options
    const state = checkedState(snapshot)
    const digest = digestOf(snapshot, state)
    this.#fenced = isFenced(snapshot.epoch, digest, { epoch: epochs.epoch, digest: epochs.epochDigest })
    if (this.#fenced) return 'fenced'
    // Epoch first: between the two an older snapshot is refused already, and this one is welcome again.
    await epochs.raiseEpoch(snapshot.epoch, digest)
    await desired.save(snapshot)
    this.#want(state)
    await this.dispatch()
    return 'accepted'
  }

  #want(state: DesiredState | undefined): void {
    this.#desired = state
    this.#wanted = new Map((state?.vms ?? []).map((spec) => [spec.vmId, wantedOf(spec)]))
  }

  #deliver(vmId: string): void {
    if (this.#stopping.signal.aborted) return
    const wanted = this.#wanted.get(vmId) ?? { kind: 'absent', unowned: this.#desired !== undefined }
    this.#worker(vmId).deliver({ vmId, wanted })
  }

  #worker(vmId: string): VmWorker<Assignment, VmResult> {
    const known = this.#workers.get(vmId)
    if (known) return known
    const { passes, passTimeoutMs } = this.#options
    let last: VmResult | undefined
    const worker = new VmWorker<Assignment, VmResult>({
      run: async (assignment, pass) => {
        const result = await runVmPass(passes, assignment, pass, (error) => this.#cannotRead(vmId, error))
        if (result) this.#unreadable.delete(vmId)
        return result
      },
      supersedes,
      hurries,
      onResult: (result) => {
        const changed = !isDeepStrictEqual(result, last)
        if (result.gone && last && !last.gone) this.#options.forgotten?.(vmId)
        last = result
        if (changed) this.#changed()
      },
      onIdle: () => {
        if (last?.gone) this.#changed()
      },
      onCrash: (error) => passes.log.error('vm.pass-crashed', { vm: vmId, error: asFault(error).message }),
      clock: passes.clock,
      passTimeoutMs: passTimeoutMs ?? PASS_TIMEOUT_MS,
    })
    this.#workers.set(vmId, worker)
    return worker
  }

  /** Only idle workers go: one at work, dropped, would get a second one beside it. */
  #reapAbsent(): void {
    for (const [id, worker] of this.#workers)
      if (worker.idle && !this.#recorded.has(id) && !this.#wanted.has(id)) {
        this.#workers.delete(id)
        this.#options.passes.ledger.release(id)
      }
  }

  /** An ack needs a finished look that found nothing: a create still at work may be about to write a record. */
  #isGone(vmId: string): boolean {
    const worker = this.#workers.get(vmId)
    return worker?.idle === true && worker.result?.gone === true
  }

  /** A record that cannot be read says nothing new: the last row stands, and without one there is none. */
  #shown(vmId: string): boolean {
    const result = this.#workers.get(vmId)?.result
    return result ? !result.gone : this.#recorded.has(vmId) && !this.#unreadable.has(vmId)
  }

  #cannotRead(vmId: string, error: unknown): void {
    const { layout, log } = this.#options.passes
    const file = layout.vmDir(vmId).record
    if (!this.#unreadable.has(vmId))
      log.error('vm.record-unreadable', { vm: vmId, file, error: asFault(error).message })
    const name = this.#nameOf(vmId) ?? vmId
    this.#unreadable.set(vmId, `The record of VM ${name} cannot be read (${file}); nothing is done to it.`)
  }

  #nameOf(vmId: string): string | undefined {
    const wanted = this.#wanted.get(vmId)
    if (wanted && wanted.kind !== 'absent') return wanted.spec.name
    const result = this.#workers.get(vmId)?.result
    return (result?.quarantined?.spec ?? result?.row?.spec)?.name
  }

  #imageCame(sha256: string): void {
    for (const [id, worker] of this.#workers) if (worker.result?.waitsForImage === sha256) this.#deliver(id)
    this.#changed()
  }

  #changed(): void {
    for (const fn of this.#listeners) fn()
  }

  async #tick(): Promise<void> {
    const { clock, log } = this.#options.passes
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await clock.sleep(TIMES.reportMs * (0.9 + Math.random() * 0.2), signal).catch(() => {})
      if (signal.aborted) return
      await this.dispatch().catch((error) => log.error('engine.tick-failed', { error: asFault(error).message }))
    }
  }
}

function wantedOf(spec: VmSpec): Wanted {
  return spec.tombstone
    ? { kind: 'tombstone', spec, graceMs: Number(spec.tombstone.graceS) * 1000 }
    : { kind: 'live', spec }
}
