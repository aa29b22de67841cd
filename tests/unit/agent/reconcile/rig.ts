import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { OnProgress } from '../../../../src/agent/images/download.ts'
import type { BootImage } from '../../../../src/agent/images/image-cache.ts'
import { CreateSlots } from '../../../../src/agent/reconcile/create-slots.ts'
import { Engine } from '../../../../src/agent/reconcile/engine.ts'
import type { PublishedPorts } from '../../../../src/agent/reconcile/engine-options.ts'
import type { Images } from '../../../../src/agent/reconcile/pass-deps.ts'
import { type Caps, QuotaLedger } from '../../../../src/agent/reconcile/quota.ts'
import type { Measured } from '../../../../src/agent/reconcile/report.ts'
import type { Desired } from '../../../../src/agent/records/desired-state.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { decodeRecord, encodeRecord, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import type { RecordRead, VmRecords } from '../../../../src/agent/records/vm-records.ts'
import type { SeedInput } from '../../../../src/agent/seed/seed-documents.ts'
import type { Clock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { DesiredStateSchema, type Exposure, SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import {
  type QuarantinedVm,
  type VmRow,
  type VmSpec,
  VmSpecSchema,
} from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { FakeBackend } from '../../../contract/backend/fake-backend.ts'
import { UserNetwork } from '../../../support/user-network.ts'

export const ID = 'a'.repeat(32)
export const OTHER = 'b'.repeat(32)
export const SHA = '1'.repeat(64)

/** A VM from a URL; what differs is named. */
export const aVm = (change: MessageInitShape<typeof VmSpecSchema> = {}): VmSpec =>
  create(VmSpecSchema, {
    vmId: ID,
    name: 'web',
    imageUrl: 'https://images.test/web.img',
    imageSha256: SHA,
    vcpus: 1,
    memMb: 512,
    diskGb: 10,
    persistent: true,
    powerState: 'running',
    ...change,
  })

/** Time that moves only by `advance`. */
export class FakeClock implements Clock {
  wall = Date.UTC(2026, 0, 1)
  mono = 0
  readonly #sleepers: { at: number; wake(): void }[] = []

  now = () => this.wall
  monotonic = () => this.mono
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#sleepers.push({ at: this.mono + ms, wake: resolve })
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
  advance(ms: number): void {
    this.wall += ms
    this.mono += ms
    for (const sleeper of this.#sleepers) if (sleeper.at <= this.mono) sleeper.wake()
  }
}

/** Keeps the encoded text, as the files do. */
export class MemoryRecords implements VmRecords {
  readonly texts = new Map<string, string>()
  readonly saved: VmRecord[] = []
  readonly unreadable = new Set<string>()
  /** What keeps the records from being listed; undefined = nothing. */
  unlisted: Error | undefined
  /** Throws for a VM that cannot be removed. */
  onRemove: (id: string) => void = () => {}
  /** Throws for a record it does not want saved. */
  onSave: (record: VmRecord) => void = () => {}

  async list(): Promise<string[]> {
    if (this.unlisted) throw this.unlisted
    return [...this.texts.keys()]
  }
  async read(id: string): Promise<RecordRead> {
    const text = this.texts.get(id)
    if (this.unreadable.has(id))
      return { kind: 'unreadable', error: new Error('input/output error'), problem: 'input/output error' }
    return text === undefined ? { kind: 'absent' } : { kind: 'record', record: decodeRecord(text) }
  }
  async save(record: VmRecord): Promise<void> {
    this.onSave(record)
    this.saved.push(record)
    this.texts.set(record.spec.vmId, encodeRecord(record))
  }
  async remove(id: string): Promise<void> {
    this.onRemove(id)
    this.texts.delete(id)
  }
  of(id: string): VmRecord | undefined {
    const text = this.texts.get(id)
    return text === undefined ? undefined : decodeRecord(text)
  }
}

/** Images that are there, come from a URL, or wait for a push. */
export class FakeImages implements Images {
  readonly whole = new Set<string>()
  fetches = 0
  /** What a fetch does before the image is whole. */
  onFetch: (progress: OnProgress, signal: AbortSignal) => Promise<void> = async () => {}
  readonly #listeners = new Set<(sha256: string) => void>()

  stat(sha256: string) {
    return { haveBytes: this.whole.has(sha256) ? 512 : 7, complete: this.whole.has(sha256) }
  }
  async fetch(_url: string, sha256: string, progress: OnProgress, signal: AbortSignal): Promise<void> {
    if (this.whole.has(sha256)) return
    this.fetches++
    await this.onFetch(progress, signal)
    this.whole.add(sha256)
  }
  /** Rejects when there is no room. */
  requireRoom: (bytes: number) => Promise<void> = async () => {}
  async bootImage(sha256: string): Promise<BootImage> {
    if (!this.whole.has(sha256)) throw new Fault('image/not-found', 'permanent', { image: sha256 })
    return { kind: 'disk', file: `/images/${sha256}`, format: 'raw', virtualBytes: 512 }
  }
  push(sha256: string): void {
    this.whole.add(sha256)
    for (const fn of this.#listeners) fn(sha256)
  }
  list = () => [...this.whole].map((sha256) => ({ sha256, sizeBytes: 512 }))
  onComplete(fn: (sha256: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }
}

export interface RigOptions {
  caps?: Partial<Caps>
  slots?: number
  passTimeoutMs?: number
  /** For a great many VMs: no story is kept, and no disk files are made. */
  many?: boolean
  measured?: Measured
  exposures?: PublishedPorts
  /** Blob of every guest's host key, base64. */
  hostKey?: string
}

/** An engine over fakes. `restart` gives it a successor on the same records. */
export class Rig implements AsyncDisposable {
  readonly backend: FakeBackend
  readonly clock = new FakeClock()
  readonly network = new UserNetwork()
  readonly records = new MemoryRecords()
  readonly images = new FakeImages()
  readonly seeds: { path: string; input: SeedInput }[] = []
  readonly host = { bootId: 'boot-1', uptimeMs: 1_000_000 }
  readonly epochs = {
    epoch: 0n,
    epochDigest: '',
    async raiseEpoch(epoch: bigint, digest: string) {
      this.epoch = epoch
      this.epochDigest = digest
    },
  }
  /** Every row and quarantine detail published, in order, without repeats. */
  readonly story: string[] = []
  /** Of the next agent. */
  caps: Partial<Caps>
  slots = new CreateSlots(0)
  /** The kept snapshot; undefined = none. */
  desired: Desired | undefined
  /** What is wrong with the kept snapshot; '' = nothing. */
  desiredProblem = ''
  engine!: Engine
  #epoch = 0n
  readonly #dir: string
  readonly #options: RigOptions

  private constructor(dir: string, options: RigOptions) {
    this.#dir = dir
    this.#options = options
    this.caps = options.caps ?? {}
    this.backend = new FakeBackend(options.many ? { writeDisk: async () => {} } : {})
  }

  static async open(options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(await mkdtemp(join(tmpdir(), 'eitri-engine-')), options)
    await rig.restart()
    return rig
  }

  /** A successor on the same records; resolves when it has nothing left to do. */
  async restart(): Promise<void> {
    await this.engine?.stop()
    await this.begin()
    await this.engine.idle()
  }

  /** A successor that has just started. */
  async begin({ tick = false } = {}): Promise<void> {
    const { slots = 0, passTimeoutMs = 0, measured, exposures, hostKey = 'AAAA' } = this.#options
    this.slots = new CreateSlots(slots)
    this.engine = new Engine({
      passes: {
        layout: agentLayout(this.#dir),
        records: this.records,
        backend: this.backend,
        network: this.network,
        images: this.images,
        seeds: {
          write: async (path, input) => void this.seeds.push({ path, input }),
          hostKey: async (_path, comment) => ({
            privateKey: 'PRIVATE',
            publicKey: `ssh-ed25519 ${hostKey} ${comment}`,
          }),
        },
        ledger: new QuotaLedger({ vcpus: 0, memMb: 0, diskGb: 0, ...this.caps }),
        slots: this.slots,
        processes: { bootId: () => this.host.bootId, uptimeMs: () => this.host.uptimeMs },
        clock: this.clock,
        log: silentLog,
        stopGraceMs: 1000,
      },
      desired: {
        load: async () => {
          if (this.desiredProblem !== '') return { kind: 'unreadable', problem: this.desiredProblem }
          return this.desired ? { kind: 'desired', desired: this.desired } : { kind: 'none' }
        },
        save: async (desired) => {
          this.desired = desired
          this.desiredProblem = ''
        },
      },
      epochs: this.epochs,
      images: this.images,
      capacity: () => undefined,
      consoleEnd: () => 0n,
      passTimeoutMs,
      ...(measured ? { measured } : {}),
      ...(exposures ? { exposures } : {}),
    })
    if (!this.#options.many) this.engine.onChange(() => this.#tell())
    await this.engine.start({ tick })
  }

  /** Sends the next snapshot and does not wait for the work. */
  async send(vms: VmSpec[], epoch = ++this.#epoch, exposures: Exposure[] = []): Promise<'accepted' | 'fenced'> {
    const state = create(DesiredStateSchema, { vms, exposures })
    return await this.engine.accept(create(SnapshotSchema, { epoch, state }))
  }

  /** Sends the next snapshot and waits until there is nothing left to do. */
  async want(...vms: VmSpec[]): Promise<void> {
    await this.send(vms)
    await this.engine.idle()
  }

  async tick(times = 1): Promise<void> {
    for (let i = 0; i < times; i++) {
      await this.engine.dispatch()
      await this.engine.idle()
    }
  }

  /** The VM's row as the report has it. */
  row(id = ID): VmRow | undefined {
    return this.engine.report().vms.find((vm) => vm.vmId === id)
  }
  quarantined(id = ID): QuarantinedVm | undefined {
    return this.engine.report().quarantined.find((vm) => vm.vmId === id)
  }
  recordFile(id: string): string {
    return agentLayout(this.#dir).vmDir(id).record
  }
  brief(id = ID): string {
    const row = this.row(id)
    return row ? `${row.power ?? '?'}/${row.phase ?? '?'}/${row.detail}` : 'no row'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop()
    await rm(this.#dir, { recursive: true, force: true })
  }

  #tell(): void {
    const line = this.brief()
    if (this.story.at(-1) !== line) this.story.push(line)
  }
}
