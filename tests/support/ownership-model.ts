import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { clone, create } from '@bufbuild/protobuf'
import { expect } from 'vitest'
import { runSyncSession } from '../../src/agent/rpc/sync-session.ts'
import {
  DesiredStateSchema,
  type SyncRequest,
  SyncRequestSchema,
  type SyncResponse,
} from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmSpec, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { buildSnapshot, digestOf } from '../../src/main/control/sync/snapshot-builder.ts'
import { aVm } from '../unit/agent/reconcile/rig.ts'
import { attachFrame, Pushed } from './agent-wire.ts'
import { MortalAgent, sessionParts } from './mortal-agent.ts'

/** Of a millisecond, for a frame to be dealt with. */
const MAX_WAITS = 20_000

/** What happened on the agent, in order: who became its owner, which snapshots it accepted. */
type Event = { owner: string } | { by: string; epoch: bigint; digest: string; vms: readonly VmSpec[] }

/** One stream of a control plane to the agent. */
class Link {
  readonly #requests = new Pushed<SyncRequest>()
  #pushed = 0
  #given = 0
  #asked = 0
  readonly cut = new AbortController()
  readonly frames: SyncResponse['message'][] = []
  over = false
  readonly done: Promise<void>

  constructor(open: (requests: AsyncIterable<SyncRequest>, signal: AbortSignal) => AsyncIterable<SyncResponse>) {
    this.done = this.#read(open(this.#counted(), this.cut.signal))
  }
  push(frame: SyncRequest): void {
    this.#pushed++
    this.#requests.push(frame)
  }
  halfClose(): void {
    this.#pushed++
    this.#requests.end()
  }
  /** Everything sent was taken and dealt with: the agent asks for more. */
  get quiet(): boolean {
    if (this.cut.signal.aborted || this.end) return this.over
    return this.over || (this.#given === this.#pushed && this.#asked === this.#given + 1)
  }
  async *#counted(): AsyncGenerator<SyncRequest> {
    this.#asked++
    for await (const frame of this.#requests) {
      this.#given++
      yield frame
      this.#asked++
    }
  }
  async #read(responses: AsyncIterable<SyncResponse>): Promise<void> {
    try {
      for await (const { message } of responses) {
        if (message.case !== 'report') this.frames.push(message)
      }
    } catch {
      // A broken frame or a cut link.
    } finally {
      this.over = true
    }
  }
  get attached(): boolean {
    return this.frames.some((frame) => frame.case === 'hello')
  }
  get end() {
    const frame = this.frames.find((f) => f.case === 'end')
    return frame?.case === 'end' ? frame.value : undefined
  }
}

/** A control plane's own truth: its VMs, its epoch, everything it ever sent. */
class ControlPlane {
  epoch = 0n
  readonly vms = new Map<string, VmSpec>()
  readonly sent: SyncRequest[] = []
  readonly links: Link[] = []
  readonly name: string
  readonly fleetId: string

  constructor(name: string, digit: string) {
    this.name = name
    this.fleetId = digit.repeat(32)
  }
  /** Changes one VM; every VM then carries the epoch, so that a mixture of two states would show. */
  edit(vmId: string, change: 'run' | 'stop' | 'delete' | 'purge' | 'forget'): void {
    this.epoch++
    if (change === 'forget') this.vms.delete(vmId)
    else
      this.vms.set(
        vmId,
        aVm({
          vmId,
          name: `${this.name}-${vmId.slice(0, 2)}`,
          powerState: change === 'stop' ? 'stopped' : 'running',
          ...(change === 'delete' || change === 'purge'
            ? { tombstone: { graceS: change === 'purge' ? 0n : 900n } }
            : {}),
        }),
      )
    for (const vm of this.vms.values()) vm.memMb = markOf(this.name, this.epoch)
  }
  frame(epoch = this.epoch, other = false): SyncRequest {
    const vms = [...this.vms.values()].map((vm) => clone(VmSpecSchema, vm))
    if (other) for (const vm of vms) vm.memMb++
    const state = create(DesiredStateSchema, { vms })
    const value = buildSnapshot(epoch, state, digestOf(state))
    return create(SyncRequestSchema, { message: { case: 'snapshot', value } })
  }
}

const markOf = (name: string, epoch: bigint) => (name === 'desk' ? 1_000_000 : 2_000_000) + Number(epoch) * 2

/** Numbers in [0, 1) that a seed repeats. */
export function randomOf(seed: number): () => number {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = Math.imul(a ^ (a >>> 15), a | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface OwnershipTally {
  ops: number
  takeOvers: number
  accepted: number
  fenced: number
  refused: number
  crashes: number
}

/** Two control planes that want different things of one agent, over its real sessions, identity and engine. */
export class OwnershipModel {
  readonly tally: OwnershipTally = { ops: 0, takeOvers: 0, accepted: 0, fenced: 0, refused: 0, crashes: 0 }
  readonly #planes = [new ControlPlane('desk', 'd'), new ControlPlane('lap', 'a')] as const
  readonly #random: () => number
  readonly #dir: string
  readonly #events: Event[] = []
  #agent!: MortalAgent
  /** Guests that ran when all was quiet and that nobody asked to stop since. */
  #mustRun = new Set<string>()
  #quietAt = 0

  private constructor(seed: number, dir: string) {
    this.#random = randomOf(seed)
    this.#dir = dir
  }

  /** `parent` holds its files: memory-backed is fastest. */
  static async open(seed: number, parent: string): Promise<OwnershipModel> {
    const model = new OwnershipModel(seed, mkdtempSync(join(parent, 'eitri-owners-')))
    model.#agent = await MortalAgent.open(model.#dir, (_, name) => {
      model.#events.push({ owner: name })
      model.tally.takeOvers++
    })
    return model
  }

  async run(ops: number): Promise<OwnershipTally> {
    for (let i = 0; i < ops; i++) {
      await this.#step()
      this.tally.ops++
      if (i % 20 === 19) await this.#quiet()
    }
    await this.#quiet()
    await this.#last()
    return this.tally
  }

  async close(): Promise<void> {
    await this.#cutAll()
    await this.#agent.rig[Symbol.asyncDispose]()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #open(plane: ControlPlane, takeOver: boolean): void {
    const { side } = this.#agent
    const parts = sessionParts(side, async (snapshot) => {
      const outcome = await side.engine.accept(snapshot)
      const digest = Buffer.from(snapshot.contentSha256).toString('hex')
      if (outcome === 'fenced') this.tally.fenced++
      else {
        this.tally.accepted++
        this.#events.push({ by: plane.name, epoch: snapshot.epoch, digest, vms: snapshot.state?.vms ?? [] })
      }
      return outcome
    })
    const link = new Link((requests, signal) => runSyncSession(parts, requests, signal))
    plane.links.push(link)
    link.push(attachFrame({ fleetId: plane.fleetId, controllerName: plane.name, takeOver }))
  }

  async #step(): Promise<void> {
    const random = this.#random
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const plane = pick(this.#planes)
    const vm = pick([...'123456']).repeat(2) + (plane.name === 'desk' ? 'd' : 'a').repeat(30)
    const link = pick(plane.links.filter((one) => !one.over))
    const roll = random()
    if (roll < 0.3) {
      const kinds = ['run', 'run', 'run', 'stop', 'delete', 'purge', 'forget'] as const
      plane.edit(vm, pick(kinds))
      if (random() < 0.7) this.#send(plane, plane.links.at(-1), plane.frame())
    } else if (roll < 0.5) this.#send(plane, link, plane.frame())
    else if (roll < 0.6) this.#send(plane, link, pick(plane.sent))
    else if (roll < 0.65) this.#send(plane, link, plane.frame(plane.epoch, true))
    else if (roll < 0.75) this.#open(plane, false)
    else if (roll < 0.85) this.#open(plane, true)
    else if (roll < 0.89) link?.cut.abort()
    else if (roll < 0.91) link?.halfClose()
    else if (roll < 0.93) link?.push(attachFrame({ fleetId: plane.fleetId }))
    else if (roll < 0.95) this.#agent.diskFails = true
    else if (roll < 0.96) await this.#crash()
    else await new Promise(setImmediate)
  }

  #send(plane: ControlPlane, link: Link | undefined, frame: SyncRequest | undefined): void {
    if (!link || !frame) return
    plane.sent.push(frame)
    link.push(frame)
  }

  async #crash(): Promise<void> {
    this.tally.crashes++
    await this.#agent.restart(() => this.#cutAll())
  }

  async #cutAll(): Promise<void> {
    for (const { links } of this.#planes) {
      for (const link of links) link.cut.abort()
      await Promise.all(links.map((link) => link.done))
      links.length = 0
    }
  }

  /** Waits until nothing moves, then holds what is against what was said. */
  async #quiet(): Promise<void> {
    const links = () => this.#planes.flatMap((plane) => plane.links)
    for (let waits = 0; links().some((link) => !link.quiet); waits++) {
      if (waits > MAX_WAITS) throw new Error('a frame is never dealt with')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await this.#agent.rig.engine.idle()
    this.#checkEvents()
    this.#checkLinks()
    this.#checkGuests()
    this.#quietAt = this.#events.length
  }

  /** One owner at a time, whose epochs never fall and never mean two things. */
  #checkEvents(): void {
    let owner = ''
    let highest: { epoch: bigint; digest: string } | undefined
    for (const event of this.#events) {
      if ('owner' in event) {
        if (event.owner !== owner) highest = undefined
        owner = event.owner
        continue
      }
      expect(event.by, 'only the owner is obeyed').toBe(owner)
      if (highest) expect(event.epoch >= highest.epoch, 'epochs never fall').toBe(true)
      if (highest?.epoch === event.epoch) expect(event.digest, 'one epoch, one content').toBe(highest.digest)
      highest = event
    }
    expect(this.#agent.identity.controllerName).toBe(owner)
    if (highest) expect(this.#agent.identity.epoch >= highest.epoch).toBe(true)
  }

  /** At most one live session, of the owner; everybody else knows who it is. */
  #checkLinks(): void {
    const live: string[] = []
    for (const plane of this.#planes)
      for (const link of plane.links) {
        if (link.attached && !link.over && !link.end) live.push(plane.name)
        const { end } = link
        if (end?.code !== 'foreign_controller') continue
        this.tally.refused++
        expect(end.controllerName, 'the loser is told who has it').toBe(plane.name === 'desk' ? 'lap' : 'desk')
      }
    for (const plane of this.#planes) {
      plane.links.splice(0, plane.links.length, ...plane.links.filter((link) => !link.over))
    }
    expect(live, 'the one live session is the owner’s').toEqual(
      this.#agent.sessions.current ? [this.#agent.identity.controllerName] : [],
    )
  }

  /** Of the last accepted state all of it and nothing else; of everything else nothing lost. */
  #checkGuests(): void {
    const { backend, records } = this.#agent.rig
    for (const event of this.#events.slice(this.#quietAt))
      if (!('owner' in event))
        for (const vm of event.vms) if (vm.tombstone || vm.powerState === 'stopped') this.#mustRun.delete(vm.vmId)
    for (const id of this.#mustRun) expect(backend.guests.has(id), `${id} runs on`).toBe(true)
    const last = this.#events.at(-1)
    if (last && 'owner' in last) {
      const { vms, destroyed } = this.#agent.rig.engine.report()
      expect([vms.filter((vm) => !vm.unowned), destroyed], 'nothing of the old owner’s counts').toEqual([[], []])
    }
    if (last && !('owner' in last))
      for (const vm of last.vms) {
        const record = records.of(vm.vmId)
        if (vm.tombstone) expect(backend.guests.has(vm.vmId)).toBe(false)
        else {
          expect(record?.spec.memMb, 'one state, whole').toBe(vm.memMb)
          expect(backend.guests.has(vm.vmId)).toBe(vm.powerState === 'running')
        }
      }
    this.#mustRun = new Set(backend.guests.keys())
  }

  /** Whoever holds it at the end gets what it wants. */
  async #last(): Promise<void> {
    const plane = this.#planes.find((p) => p.name === this.#agent.identity.controllerName) ?? this.#planes[0]
    this.#agent.diskFails = false
    await this.#cutAll()
    this.#open(plane, true)
    plane.epoch = plane.epoch > this.#agent.identity.epoch ? plane.epoch : this.#agent.identity.epoch
    for (const id of ['1', '2']) plane.edit(id.repeat(2) + plane.fleetId.slice(2), 'run')
    this.#send(plane, plane.links.at(-1), plane.frame())
    await this.#quiet()
    const last = this.#events.at(-1)
    expect(last).toMatchObject({ by: plane.name, epoch: plane.epoch })
  }
}
