import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { fileDesired } from '../../../../../src/agent/records/desired-state.ts'
import type { VmLayout } from '../../../../../src/agent/records/layout.ts'
import type { Report } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmSpec, VmSpecSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { Life } from './memory-files.ts'
import type { Watcher, World } from './world.ts'

export const IDS = ['a', 'b', 'c'].map((letter) => letter.repeat(32))
const SIZES = [
  ['vcpus', 'vcpus'],
  ['memMb', 'memMb'],
  ['diskGb', 'diskGb'],
] as const

export const isUp = (spec: VmSpec | undefined): boolean =>
  spec !== undefined && !spec.tombstone && spec.powerState !== 'stopped'
const graceMs = (spec: VmSpec | undefined): number => Number(spec?.tombstone?.graceS ?? 0n) * 1000

/**
 * The control plane, and what may be true of the host given what it sent: an account of its own, kept without looking
 * into the agent. What does not hold is in `broken`.
 */
export class Referee implements Watcher {
  readonly world: World
  readonly broken: string[] = []
  /** What the control plane wants. */
  desired = new Map<string, VmSpec>()
  epoch = 0n
  /** What the agent accepted last. */
  applied = new Map<string, VmSpec>()
  /** What was just sent and may be accepted already. */
  #sent = new Map<string, VmSpec>()
  /** Guests that somebody asked to stop, or to start, since nothing was under way. */
  readonly #mayStop = new Set<string>()
  readonly #mayStart = new Set<string>()
  /** Most time each VM can have spent in quarantine, ms. */
  readonly #quarantined = new Map<string, number>()
  /** What went wrong on purpose. */
  readonly #faults = new Map<string, number>()
  readonly #exits = new Map<string, number>()
  /** Of the snapshot accepted last. */
  #appliedEpoch = 0n
  /** The agent that lives began with a record it could not read: it cannot know what that VM holds. */
  blind = false
  rebooted = false
  steps = 0

  constructor(world: World) {
    this.world = world
    world.watcher = this
    world.disk.onRemove = (dir) => this.onPurge(dir)
  }

  /** Changes one VM and sends everything. */
  async edit(id: string, change: (spec: VmSpec | undefined) => VmSpec | undefined): Promise<void> {
    const spec = change(this.desired.get(id))
    if (spec) this.desired.set(id, spec)
    else this.desired.delete(id)
    this.epoch++
    await this.send()
  }

  /** Two changes of one VM, the second before anybody looked. */
  async twice(id: string, first: (spec: VmSpec) => VmSpec, second: (spec: VmSpec) => VmSpec): Promise<void> {
    await this.edit(id, (spec) => first(spec!))
    await this.edit(id, (spec) => second(spec!))
  }

  async send(): Promise<void> {
    const { world } = this
    this.#sent = new Map(this.desired)
    for (const id of IDS) {
      const is = this.#sent.get(id)
      const restart = is && is.restartCount > (world.recordOf(id)?.restartCount ?? 0n)
      if (is && (!isUp(is) || restart)) this.#mayStop.add(id)
      if (isUp(is)) this.#mayStart.add(id)
    }
    const outcome = await world.send(this.epoch, [...this.desired.values()])
    if (outcome === 'accepted') this.#apply(this.#sent, this.epoch)
    else if (outcome === 'fenced') this.#fail(`the newest snapshot ${this.epoch} was fenced`)
    else if (outcome === 'refused' && !world.disk.full) this.#fail('a snapshot was refused with room on the disk')
  }

  /** Sends what an agent must refuse. */
  async sendStale(epoch: bigint, vms: VmSpec[]): Promise<void> {
    const outcome = await this.world.send(epoch, vms)
    if (outcome !== 'fenced' && outcome !== 'open') this.#fail(`snapshot ${epoch} was ${outcome}, not fenced`)
  }

  count(what: 'faults' | 'exits', times: number, ids: readonly string[] = IDS): void {
    const counts = what === 'faults' ? this.#faults : this.#exits
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + times)
  }

  async advance(ms: number): Promise<void> {
    for (const [id, spec] of this.applied)
      if (spec.tombstone) this.#quarantined.set(id, (this.#quarantined.get(id) ?? 0) + ms)
    await this.world.advance(ms)
  }

  /** The agent is gone, by whatever way: what it had accepted is what it left. */
  async begin(): Promise<void> {
    const { world } = this
    world.kill()
    this.count('faults', 1)
    const read = await fileDesired(world.layout.desired, world.disk.mount(new Life())).load()
    const kept = read.kind === 'desired' ? read.desired.snapshot : undefined
    if ((kept?.epoch ?? 0n) < this.#appliedEpoch) this.#fail(`snapshot ${this.#appliedEpoch} was accepted and is lost`)
    if (kept) this.#apply(new Map(kept.state!.vms.map((vm) => [vm.vmId, vm])), kept.epoch)
    if (read.kind === 'unreadable') this.#fail(`the kept snapshot cannot be read: ${read.problem}`)
    this.blind = world.disk.unreadable.size > 0 || !world.disk.listable
    await world.begin()
  }

  /** After each step. */
  async judge(): Promise<void> {
    const { world } = this
    this.steps++
    if (world.agent.life.dead) await this.begin()
    this.#sent = this.applied
    const report = world.agent.engine.report()
    this.#judgeAcks(report)
    if (!(await world.isIdle())) return
    this.#settleLicences()
    if (world.agent.slots.inUse !== 0) this.#fail(`${world.agent.slots.inUse} slots are taken by nobody`)
    for (const id of IDS) this.#judgeVm(id, report)
  }

  onBoot({ id }: VmLayout, spec: VmSpec): void {
    if (this.world.guests.has(id)) this.#fail(`${id[0]} is started while it runs`)
    if (!this.#mayStart.has(id)) this.#fail(`${id[0]} is started though nobody wants it to run`)
    if (!this.blind) this.#judgeRoom(id, spec)
  }

  onEnd({ id }: VmLayout, how: 'shutdown' | 'destroy'): void {
    const { world } = this
    const record = world.recordOf(id)
    if (!world.guests.has(id) || record?.bootId === '') return
    if (!this.#mayStop.has(id)) this.#fail(`${id[0]} is ended by ${how} though nobody asked`)
    if (how === 'shutdown' && !record?.stopRequested) this.#fail(`${id[0]} is stopped before that is noted`)
    if (how === 'destroy' && !this.#mayPurge(id)) this.#fail(`${id[0]} is destroyed within its grace`)
  }

  onDisk({ id, disk }: VmLayout): void {
    const record = this.world.recordOf(id)
    if (!record) this.#fail(`${id[0]} gets a disk before it has a record`)
    else if (this.world.guests.has(id)) this.#fail(`the disk of ${id[0]} is made under a running guest`)
    else if (record.bootId !== '' && this.world.disk.files.has(disk)) this.#fail(`the disk of ${id[0]} is replaced`)
  }

  onPurge(dir: string): void {
    const id = dir.slice(-32)
    if (!this.#mayPurge(id)) this.#fail(`the data of ${id[0]} is removed within its grace`)
    if (this.world.guests.has(id)) this.#fail(`the data of ${id[0]} is removed under a running guest`)
  }

  onBusy({ id }: VmLayout, how: string): void {
    this.#fail(`${how} of ${id[0]} begins before the one before it ended`)
  }

  faultsOf = (id: string): number => this.#faults.get(id) ?? 0
  exitsOf = (id: string): number => this.#exits.get(id) ?? 0
  quarantinedMs = (id: string): number => this.#quarantined.get(id) ?? 0

  #fail(what: string): void {
    this.broken.push(what)
  }

  #apply(vms: Map<string, VmSpec>, epoch: bigint): void {
    this.applied = vms
    this.#appliedEpoch = epoch
    for (const [id, spec] of vms) if (!spec.tombstone) this.#quarantined.delete(id)
  }

  #mayPurge(id: string): boolean {
    return [this.applied, this.#sent].some((wanted) => {
      const spec = wanted.get(id)
      return spec?.tombstone !== undefined && this.quarantinedMs(id) >= graceMs(spec)
    })
  }

  #judgeRoom(id: string, spec: VmSpec): void {
    const { world } = this
    const own = world.recordOf(id)?.admitted
    for (const [key] of SIZES) {
      const cap = world.caps[key]
      if (cap === 0 || (own && spec[key] <= own[key])) continue
      let sum = spec[key]
      for (const other of IDS) {
        const record = other === id ? undefined : world.recordOf(other)
        if (record && !record.quarantine && record.bootId !== '') sum += record.admitted?.[key] ?? 0
      }
      if (sum > cap) this.#fail(`${id[0]} starts with ${key} ${sum} of ${cap}`)
    }
  }

  #judgeAcks(report: Report): void {
    const { world } = this
    for (const id of report.destroyed) {
      if (!this.applied.get(id)?.tombstone) this.#fail(`${id[0]} is acknowledged though nobody deleted it`)
      if (world.guests.has(id)) this.#fail(`${id[0]} is acknowledged though its guest runs`)
      const left = [world.layout.vmDir(id).dir, `${world.layout.trash}/${id}`].flatMap((dir) => world.disk.under(dir))
      if (left.length > 0) this.#fail(`${id[0]} is acknowledged though ${left.join()} is there`)
    }
  }

  #settleLicences(): void {
    const { world } = this
    for (const id of IDS) {
      const spec = this.applied.get(id)
      const record = world.recordOf(id)
      const done = isUp(spec) ? record && record.restartCount >= spec!.restartCount && world.guests.has(id) : !spec
      if (done && !record?.quarantine) this.#mayStop.delete(id)
      if (isUp(spec)) this.#mayStart.add(id)
      else this.#mayStart.delete(id)
    }
  }

  #judgeVm(id: string, report: Report): void {
    const { world } = this
    const { record: path } = world.layout.vmDir(id)
    if (world.disk.unreadable.has(path) || !world.disk.listable || this.blind) return
    const record = world.recordOf(id)
    const rows = report.vms.filter((row) => row.vmId === id)
    const quarantined = report.quarantined.filter((vm) => vm.vmId === id)
    if (record && rows.length + quarantined.length !== 1)
      this.#fail(`${id[0]} is in the report ${rows.length + quarantined.length} times`)
    if (record?.quarantine && rows.length > 0) this.#fail(`${id[0]} is in quarantine and has a row`)
    if (!record && world.guests.has(id)) this.#fail(`${id[0]} runs without a record`)
    const power = rows[0]?.power
    if (power !== undefined && (power === 'running') !== world.guests.has(id))
      this.#fail(`${id[0]} is told as ${power} and is not`)
    const held = world.agent.ledger.held(id)
    const isWanted = this.applied.get(id) !== undefined && !this.applied.get(id)!.tombstone
    if (record?.admitted && !held && !this.applied.get(id)?.tombstone)
      this.#fail(`${id[0]} was admitted and is not counted`)
    // Wanted again, it counts before its record can say so.
    if (held && record?.quarantine && !isWanted) this.#fail(`${id[0]} is in quarantine and is counted`)
    if (held && !record && !isWanted) this.#fail(`${id[0]} is nobody and is counted`)
  }
}

/** A VM as the control plane would send it first. */
export const newVm = (id: string, change: MessageInitShape<typeof VmSpecSchema> = {}): VmSpec =>
  create(VmSpecSchema, {
    vmId: id,
    name: `vm-${id[0]}`,
    imageUrl: 'https://images.test/vm.img',
    imageSha256: '1'.repeat(64),
    vcpus: 1,
    memMb: 512,
    diskGb: 10,
    persistent: true,
    powerState: 'running',
    ...change,
  })
