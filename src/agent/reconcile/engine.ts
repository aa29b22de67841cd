import { isDeepStrictEqual } from 'node:util'
import { clockPolicyOf } from '../../ipc/clock-policy.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { Capacity } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { Exposure, Report, Snapshot } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { TIMES } from '../../ipc/units.ts'
import type { MeteredVm } from '../facts/vm-meter.ts'
import type { RunningGuest } from '../guest/guest-rounds.ts'
import type { GuestTrustFiles } from '../seed/ssh-trust.ts'
import { Autostart } from './autostart.ts'
import { DiskHolds } from './disk-holds.ts'
import type { EngineOptions } from './engine-options.ts'
import { checkedState, digestOf, isFenced } from './fence.ts'
import { KeptDesired } from './kept-desired.ts'
import type { PassDeps } from './pass-deps.ts'
import { firstResult } from './reap-vm.ts'
import { buildReport } from './report.ts'
import { UnreadableRecords } from './unreadable-records.ts'
import { type Assignment, hurries, runVmPass, supersedes } from './vm-pass.ts'
import type { VmResult } from './vm-result.ts'
import { VmWorker } from './vm-worker.ts'
import type { WantedVms } from './wanted-vms.ts'

/** Longest one pass over one VM may take, ms: above the 10 minutes a first image download is allowed. */
const PASS_TIMEOUT_MS = 15 * 60_000

/** Routes the desired state to one worker per VM and gathers what they found. Does no slow work itself. */
export class Engine {
  readonly #options: EngineOptions
  readonly #workers = new Map<string, VmWorker<Assignment, VmResult>>()
  readonly #listeners = new Set<() => void>()
  readonly #unreadable: UnreadableRecords
  readonly #desired: KeptDesired
  readonly #stopping = new AbortController()
  readonly #unsubscribe: (() => void)[] = []
  /** Why the records cannot be looked through; '' = they can. */
  #unlisted = ''
  #counted = false
  #recorded: ReadonlySet<string> = new Set()
  #fenced = false
  readonly #holds = new DiskHolds()
  readonly #autostart: Autostart
  #accepting: Promise<unknown> = Promise.resolve()
  #ticking: Promise<void> | undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.#unreadable = new UnreadableRecords(options.passes.layout, options.passes.log)
    this.#desired = new KeptDesired(options.desired, options.passes.log)
    const { clock, processes } = options.passes
    this.#autostart = new Autostart({
      vms: () => this.#wantedVms(),
      now: () => ({ bootId: processes.bootId(), uptimeMs: processes.uptimeMs() }),
      clock,
      look: (vmId) => this.#deliver(vmId),
      signal: this.#stopping.signal,
    })
  }

  /** Takes up what an earlier agent left and works on it; resolves once every VM has its assignment. */
  async start({ tick = true } = {}): Promise<void> {
    const { passes, images, epochs, exposures } = this.#options
    await this.#desired.load(epochs.epoch)
    this.#unsubscribe.push(
      images.onComplete((sha256) => this.#imageCame(sha256)),
      passes.backend.onExit((vmId) => this.#deliver(vmId)),
      this.#holds.onFree((vmId) => this.#deliver(vmId)),
      ...(exposures ? [exposures.onChange(() => this.#changed())] : []),
      ...(this.#options.beside ?? []).map((one) => one.onChange(() => this.#changed())),
    )
    await this.#dispatched()
    if (tick) this.#ticking = this.#tick()
  }

  /** Takes nothing more and resolves when every pass, and a snapshot being kept, has ended; guests run on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const stop of this.#unsubscribe) stop()
    await Promise.all([this.#accepting, ...[...this.#workers.values()].map((worker) => worker.stop())])
    await this.#ticking
  }

  /** Routes only; a snapshot is durable before it counts. Raises `input/invalid` for a malformed one. */
  accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'> {
    return this.#inTurn(() => this.#accept(snapshot))
  }

  /** The agent has a new owner, durably: until its first snapshot every VM is unowned and goes on as it is. */
  disown(): Promise<void> {
    return this.#inTurn(async () => {
      this.#fenced = false
      await this.#desired.drop(this.#isHere)
      this.#options.exposures?.look()
      await this.#dispatched()
    })
  }

  /** From the last results, at once. */
  report(): Report {
    const { passes, images, epochs, capacity, consoleEnd } = this.#options
    const ids = new Set([...this.#recorded, ...this.#workers.keys()])
    return buildReport({
      epoch: epochs.epoch,
      epochDigest: epochs.epochDigest,
      fenced: this.#fenced,
      results: new Map([...ids].filter((id) => this.#shown(id)).map((id) => [id, this.#workers.get(id)?.result])),
      destroyed: [...this.#wanted.ids()].filter((id) => this.#wanted.of(id).kind === 'tombstone' && this.#isGone(id)),
      capacity: capacity(),
      images: images.list(),
      imageBytes: (sha256) => passes.images.stat(sha256).haveBytes,
      consoleEnd,
      bootId: passes.processes.bootId(),
      now: passes.clock.now(),
      notices: [...this.#troubles(), ...(this.#options.notices?.() ?? [])],
      measured: this.#options.measured,
      exposures: this.#options.exposures?.statuses() ?? [],
    })
  }

  /** The last accepted snapshot of the present owner; undefined = there is none, or it cannot be read. */
  held(): Snapshot | undefined {
    return this.#desired.snapshot
  }

  /** Guest ports the accepted state publishes; its VMs need not be wanted. */
  exposures(): readonly Exposure[] {
    return this.#wanted.exposures
  }

  /** In the accepted state, and not deleted. */
  isWanted(vmId: string): boolean {
    return this.#wanted.of(vmId).kind === 'live'
  }

  /** What the last pass saw of a guest: `run` differs for each run of its process, '' = none runs; `ip` '' = not known. */
  guest(vmId: string): { run: string; ip: string } {
    const row = this.#workers.get(vmId)?.result?.row
    return { run: row?.running?.startedAt.toISOString() ?? '', ip: row?.ip ?? '' }
  }

  /** Every VM with a record, and the process that runs it. */
  metered(): MeteredVm[] {
    const { layout } = this.#options.passes
    const processOf = (id: string) => this.#workers.get(id)?.result?.row?.running?.identity
    return [...this.#recorded].map((id) => ({ id, dir: layout.vmDir(id).dir, process: processOf(id) }))
  }

  /** What a running guest is to hold of the fleet's SSH trust; undefined = nothing. */
  trustOf(vmId: string): GuestTrustFiles | undefined {
    return this.#wanted.trustOf(vmId)
  }

  /** Every VM that runs, with who keeps its clock. */
  guests(): RunningGuest[] {
    const { layout } = this.#options.passes
    return [...this.#workers].flatMap(([id, { result }]) => {
      const { running, spec } = result?.row ?? {}
      if (!running) return []
      const wanted = this.#wanted.of(id)
      const policy = clockPolicyOf((wanted.kind === 'absent' ? spec : wanted.spec)?.clockPolicy ?? '')
      return [{ id, vm: layout.vmDir(id), policy, startedAt: running.startedAt.getTime() }]
    })
  }

  /** Calls `fn` after each result that differs from the one before; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Hex, of the content of that epoch; '' = none yet. */
  lastSeenDigest(): string {
    return this.#options.epochs.epochDigest
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

  /** Something of the VM changed on this host: it gets a pass now. */
  lookAgain(vmId: string): void {
    this.#deliver(vmId)
  }

  /** Resolves when no VM has work under way. */
  async idle(): Promise<void> {
    const busy = () => [...this.#workers.values()].filter((worker) => !worker.idle)
    for (let work = busy(); work.length > 0; work = busy()) await Promise.all(work.map((worker) => worker.done()))
  }

  /** Gives every VM its assignment again; the one thing a tick waits for is the list of records. */
  async dispatch(): Promise<void> {
    if (this.held()) await this.#options.revokedFile?.keep(this.#wanted.revoked)
    const ids = await this.#options.passes.records.list()
    if (!this.#counted) await this.#count(ids)
    this.#recorded = new Set(ids)
    this.#unreadable.keep(this.#recorded)
    this.#unlisted = ''
    const busy = [...this.#workers].filter(([, worker]) => !worker.idle).map(([id]) => id)
    for (const id of new Set([...ids, ...this.#wanted.ids(), ...busy])) this.#deliver(id)
    this.#reapAbsent()
  }

  async #accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'> {
    const { epochs } = this.#options
    const state = checkedState(snapshot)
    const digest = digestOf(snapshot, state)
    this.#fenced = isFenced(snapshot.epoch, digest, { epoch: epochs.epoch, digest: epochs.epochDigest })
    if (this.#fenced) return 'fenced'
    // Epoch first: between the two an older snapshot is refused already, and this one is welcome again.
    await epochs.raiseEpoch(snapshot.epoch, digest)
    await this.#desired.keep(snapshot, state, this.#isHere)
    this.#options.exposures?.look()
    await this.#dispatched()
    return 'accepted'
  }

  readonly #isHere = (vmId: string): boolean => this.#recorded.has(vmId) && !this.#isGone(vmId)

  get #wanted(): WantedVms {
    return this.#desired.wanted
  }

  /** One snapshot after the other, none once the agent stops. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#accepting.then(() => {
      if (this.#stopping.signal.aborted) throw new Fault('app/cancelled', 'cancelled')
      return work()
    })
    this.#accepting = next.catch(() => {})
    return next
  }

  /** Counts what earlier agents admitted, and shows their records until a pass has looked at each VM. */
  async #count(ids: readonly string[]): Promise<void> {
    const { passes } = this.#options
    for (const vmId of ids) {
      const read = await passes.records.read(vmId)
      if (read.kind === 'unreadable') {
        this.#unreadable.add(vmId, this.#nameOf(vmId), read)
        const wanted = this.#wanted.of(vmId)
        if (wanted.kind === 'live') passes.ledger.note(wanted.spec)
      }
      if (read.kind !== 'record') continue
      const { admitted } = read.record
      if (admitted) passes.ledger.note({ vmId, ...admitted })
      this.#worker(vmId, firstResult(passes, read.record, this.#wanted.of(vmId)))
    }
    this.#counted = true
  }

  #deliver(vmId: string): void {
    if (this.#stopping.signal.aborted || !this.#counted) return
    this.#worker(vmId).deliver({ vmId, wanted: this.#wanted.of(vmId) })
  }

  #worker(vmId: string, initial?: VmResult): VmWorker<Assignment, VmResult> {
    const known = this.#workers.get(vmId)
    if (known) return known
    const { passes: given, passTimeoutMs } = this.#options
    const passes: PassDeps = {
      ...given,
      holds: this.#holds,
      wanted: (id) => this.#wanted.of(id),
      revoked: () => this.#wanted.revoked.bytes,
      awaitsTurn: (spec) => this.#autostart.waits(spec),
    }
    let last = initial
    const wanted = this.#wanted.of(vmId)
    // Whoever wants to start the disk's own VM from now on waits for the first pass.
    if (wanted.kind === 'live' && wanted.spec.cloneOf !== '') this.#holds.hold(wanted.spec.cloneOf, vmId)
    const worker = new VmWorker<Assignment, VmResult>({
      run: async (assignment, pass) => {
        const result = await runVmPass(passes, assignment, pass, {
          latest: () => this.#wanted.of(vmId),
          unreadable: (read) => this.#unreadable.add(vmId, this.#nameOf(vmId), read),
        }).finally(() => this.#holds.free(vmId))
        if (result) this.#unreadable.delete(vmId)
        return result
      },
      supersedes,
      hurries,
      onResult: (result) => {
        const changed = !isDeepStrictEqual(result, last)
        if (result.gone && last && !last.gone) this.#options.forgotten?.(vmId)
        last = result
        if (!changed) return
        this.#autostart.noted(vmId, result, this.#specOf(vmId))
        this.#options.exposures?.look()
        this.#changed()
      },
      onIdle: () => {
        if (last?.gone) this.#changed()
      },
      onCrash: (error) => passes.log.error('vm.pass-crashed', { vm: vmId, error: asFault(error).message }),
      clock: passes.clock,
      passTimeoutMs: passTimeoutMs ?? PASS_TIMEOUT_MS,
      ...(initial ? { initial } : {}),
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

  #troubles(): string[] {
    const { layout } = this.#options.passes
    const troubles = this.#unreadable.notices()
    if (this.#desired.problem !== '')
      troubles.unshift(
        `What this host should run cannot be read (${layout.desired}: ${this.#desired.problem}); its VMs go on as they are until a control plane connects.`,
      )
    if (this.#unlisted !== '')
      troubles.unshift(
        `The VMs of this host cannot be listed (${layout.vms}: ${this.#unlisted}); nothing is done to them.`,
      )
    return troubles
  }

  #nameOf(vmId: string): string | undefined {
    const result = this.#workers.get(vmId)?.result
    return (this.#specOf(vmId) ?? result?.quarantined?.spec ?? result?.row?.spec)?.name
  }

  #specOf(vmId: string): VmSpec | undefined {
    const wanted = this.#wanted.of(vmId)
    return wanted.kind === 'absent' ? undefined : wanted.spec
  }

  *#wantedVms() {
    for (const id of this.#wanted.ids()) {
      const result = this.#workers.get(id)?.result
      yield { wanted: this.#wanted.of(id), result, recorded: this.#recorded.has(id) }
    }
  }

  #imageCame(sha256: string): void {
    for (const [id, worker] of this.#workers) if (worker.result?.waitsForImage === sha256) this.#deliver(id)
    this.#changed()
  }

  #changed(): void {
    for (const fn of this.#listeners) fn()
  }

  async #tick(): Promise<void> {
    const { clock } = this.#options.passes
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await clock.sleep(TIMES.reportMs * (0.9 + Math.random() * 0.2), signal).catch(() => {})
      if (signal.aborted) return
      await this.#dispatched()
    }
  }

  /** What cannot be routed now is told, and routed by a later tick. */
  async #dispatched(): Promise<void> {
    try {
      await this.dispatch()
    } catch (error) {
      this.#unlisted = asFault(error).message
      this.#options.passes.log.error('engine.dispatch-failed', { error: this.#unlisted })
    }
  }
}
