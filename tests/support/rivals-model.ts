import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { findFault } from '../../src/ipc/faults.ts'
import type { Snapshot } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { MortalAgent } from './mortal-agent.ts'
import { randomOf } from './ownership-model.ts'
import { RivalPlane } from './rival-plane.ts'

const MAX_VMS = 6
const SETTLE_MS = 10_000
const DAY_MS = 24 * 3600_000

type Event = { owner: string; name: string } | { by: RivalPlane; fleetId: string; snapshot: Snapshot; knew: bigint }

export interface RivalsTally {
  ops: number
  accepted: number
  takeOvers: number
  foreign: number
  superseded: number
  older: number
  overruled: number
  restored: number
  rebuilt: number
  restarts: number
  destroyed: number
}

/**
 * Control planes that want different things of one host, each with its real store and session against the agent's real
 * sessions, identity, fence and engine: one of another fleet, and one that is a copy of the first.
 */
export class RivalsModel {
  readonly tally: RivalsTally = {
    ...{ ops: 0, accepted: 0, takeOvers: 0, foreign: 0, superseded: 0, older: 0, overruled: 0 },
    ...{ restored: 0, rebuilt: 0, restarts: 0, destroyed: 0 },
  }
  readonly #random: () => number
  readonly #dir: string
  readonly #desk: RivalPlane
  readonly #twin: RivalPlane
  readonly #planes: readonly RivalPlane[]
  readonly #yesterday = new Map<RivalPlane, string>()
  readonly #events: Event[] = []
  #agent!: MortalAgent
  /** What ran when all was quiet, and which run of it. */
  #ran = new Map<string, unknown>()
  #kept = new Set<string>()
  #quietAt = 0

  private constructor(seed: number, dir: string) {
    this.#random = randomOf(seed)
    this.#dir = dir
    this.#desk = new RivalPlane('desk', dir)
    this.#twin = new RivalPlane('twin', dir)
    this.#planes = [this.#desk, new RivalPlane('lap', dir), this.#twin]
  }

  /** `parent` holds its files: memory-backed is fastest. */
  static async open(seed: number, parent: string): Promise<RivalsModel> {
    const dir = mkdtempSync(join(parent, 'eitri-rivals-'))
    const model = new RivalsModel(seed, dir)
    const owned = (fleetId: string, name: string, before: string) => {
      if (before !== fleetId) model.#events.push({ owner: fleetId, name })
      if (before !== '' && before !== fleetId) model.tally.takeOvers++
    }
    model.#agent = await MortalAgent.open(dir, owned, Date.now())
    const key = Buffer.from(model.#agent.identity.publicKey()).toString('base64')
    for (const plane of model.#planes) plane.open()
    for (const plane of model.#planes.slice(0, 2)) plane.add(key)
    model.#desk.connect(model.#agent.side, false, model.#seenBy(model.#desk))
    await model.#settled()
    await model.#putBack(model.#twin, model.#desk.copy())
    return model
  }

  async run(ops: number): Promise<RivalsTally> {
    for (let i = 0; i < ops; i++) {
      await this.#step()
      this.tally.ops++
      if (i % 20 === 19) await this.#quiet()
    }
    await this.#quiet()
    return this.tally
  }

  async close(): Promise<void> {
    for (const plane of this.#planes) await plane.close()
    await this.#agent.rig[Symbol.asyncDispose]()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #seenBy(plane: RivalPlane): (snapshot: Snapshot) => void {
    // What was on its way when its store was put back is of the store before.
    const { knows, fleetId } = plane
    return (snapshot) => {
      this.tally.accepted++
      this.#events.push({ by: plane, fleetId, snapshot, knew: knows.epoch })
      knows.epoch = snapshot.epoch
    }
  }

  async #step(): Promise<void> {
    const random = this.#random
    const below = (n: number) => Math.floor(random() * n)
    const plane = this.#planes[below(this.#planes.length)]!
    const live = plane.vms.filter((vm) => !vm.deletedAt)
    const deleted = plane.vms.filter((vm) => vm.deletedAt)
    const [vm, gone] = [live[below(live.length)], deleted[below(deleted.length)]]
    const roll = random()
    if (roll < 0.1) {
      if (live.length < MAX_VMS) plane.create(`${plane.name}-${this.tally.ops}`)
    } else if (roll < 0.35) {
      const acts = [
        { do: 'start' },
        { do: 'stop', force: true },
        { do: 'restart' },
        { do: 'delete', graceS: 900 },
      ] as const
      if (vm) plane.act(vm, acts[below(acts.length)]!)
    } else if (roll < 0.41)
      refusable(() => gone && plane.act(gone, { do: 'undelete', newName: `back-${this.tally.ops}` }))
    else if (roll < 0.43) refusable(() => gone && plane.act(gone, { do: 'purge' }))
    else if (roll < 0.47) refusable(() => vm && plane.publish(vm, 1 + below(60_000)))
    else if (roll < 0.49) plane.unpublish(below)
    else if (roll < 0.53) refusable(() => plane.adopt(below))
    else if (roll < 0.73) plane.connect(this.#agent.side, false, this.#seenBy(plane))
    else if (roll < 0.78) plane.connect(this.#agent.side, true, this.#seenBy(plane))
    else if (roll < 0.82) await plane.cut()
    else if (roll < 0.88) await this.#decide(this.#planes.find((one) => one.older) ?? plane)
    else if (roll < 0.895) await plane.restart()
    else if (roll < 0.91) this.#yesterday.set(plane, plane.copy())
    else if (roll < 0.917) await this.#putBack(plane, this.#yesterday.get(plane))
    else if (roll < 0.924) await this.#putBack(this.#twin, this.#desk.copy())
    else if (roll < 0.93) await this.#rebuild(plane)
    else if (roll < 0.937) await this.#restart()
    else if (roll < 0.945) this.#agent.diskFails = true
    else if (roll < 0.955) this.#agent.rig.clock.advance(DAY_MS / 100)
    else await new Promise(setImmediate)
  }

  async #decide(plane: RivalPlane): Promise<void> {
    if (!plane.older) return
    plane.overrule()
    this.tally.overruled++
    await plane.cut()
    plane.connect(this.#agent.side, false, this.#seenBy(plane))
  }

  async #putBack(plane: RivalPlane, copy: string | undefined): Promise<void> {
    if (copy === undefined) return
    await plane.restart(copy)
    // What its rows say they were sent is what it can take into account.
    plane.knows = { epoch: plane.host?.sentEpoch ?? 0n }
    this.tally.restored++
  }

  async #rebuild(plane: RivalPlane): Promise<void> {
    if (await plane.loseAndRebuild(this.#agent.side, this.#seenBy(plane))) this.tally.rebuilt++
  }

  /** The agent ends and is started again; guests run on. */
  async #restart(): Promise<void> {
    this.tally.restarts++
    await this.#agent.restart(async () => {
      for (const plane of this.#planes) await plane.cut()
    })
  }

  /** Waits until nothing moves, then holds what is against what was said. */
  async #quiet(): Promise<void> {
    this.#agent.diskFails = false
    await this.#settled()
    this.#checkEvents()
    this.#checkTold()
    this.#checkGuests()
    this.#quietAt = this.#events.length
    this.#ran = new Map(this.#agent.rig.backend.guests)
    this.#kept = new Set(this.#agent.rig.records.texts.keys())
  }

  async #settled(): Promise<void> {
    const until = Date.now() + SETTLE_MS
    for (let still = 0, last = ''; still < 3; ) {
      if (Date.now() > until) throw new Error(`it never settles: ${last}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      await this.#agent.rig.engine.idle()
      const now = JSON.stringify([this.#events.length, this.#planes.map((plane) => this.#stateOf(plane))])
      const sessions = this.#planes.filter((plane) => plane.live).length === (this.#agent.sessions.current ? 1 : 0)
      still = now === last && sessions && this.#planes.every((plane) => this.#isSettled(plane)) ? still + 1 : 0
      last = now
    }
  }

  #stateOf(plane: RivalPlane) {
    const { host, told, live, older } = plane
    return [
      plane.name,
      live,
      older,
      told?.code ?? '',
      String(host?.epoch),
      String(host?.sentEpoch),
      String(this.#agent.identity.epoch),
    ]
  }

  /** Who holds the session has sent all it wants, or waits for a person. */
  #isSettled(plane: RivalPlane): boolean {
    const { host } = plane
    if (!plane.live || !host || plane.older || plane.stores.db.damage) return true
    return host.epoch === host.sentEpoch && host.sentEpoch === this.#agent.identity.epoch
  }

  /** One owner at a time; epochs never fall, never mean two things, and nobody overtakes what it does not know. */
  #checkEvents(): void {
    let owner = ''
    let last: Exclude<Event, { owner: string }> | undefined
    for (const event of this.#events) {
      if ('owner' in event) {
        if (event.owner !== owner) last = undefined
        owner = event.owner
        continue
      }
      expect(event.fleetId, 'only the owner is obeyed').toBe(owner)
      if (last) {
        const { epoch, contentSha256 } = last.snapshot
        expect(event.snapshot.epoch >= epoch, 'epochs never fall').toBe(true)
        if (epoch === event.snapshot.epoch)
          expect(event.snapshot.contentSha256, 'one epoch, one content').toEqual(contentSha256)
        else
          expect(
            event.knew >= epoch,
            `${event.by.name} (knew ${event.knew}, sends ${event.snapshot.epoch}) overtook ${last.by.name} ${epoch}`,
          ).toBe(true)
      }
      last = event
    }
    expect(this.#agent.identity.fleetId).toBe(owner)
  }

  /** At most one session is the agent's; everybody else was told why it is not theirs. */
  #checkTold(): void {
    const holders = this.#planes.filter((plane) => plane.live)
    expect(holders.length, 'one session').toBe(this.#agent.sessions.current ? 1 : 0)
    for (const plane of this.#planes) {
      if (plane.live) {
        expect(plane.fleetId, 'the session is the owner’s').toBe(this.#agent.identity.fleetId)
        if (plane.older) this.tally.older++
      }
      const { told } = plane
      if (told?.code === 'agent/foreign-controller') {
        this.tally.foreign++
        expect(told.params['controller'], 'the loser is told who has it').not.toBe('')
      } else if (told?.code === 'agent/superseded') this.tally.superseded++
      else if (told) expect(['host/no-answer'], `${plane.name} was told`).toContain(told.code)
    }
  }

  /** Of the last accepted state all of it and nothing else; of everything else nothing lost. */
  #checkGuests(): void {
    const { backend, records } = this.#agent.rig
    const since = this.#events.slice(this.#quietAt)
    const before = this.#events.slice(0, this.#quietAt).findLast((event) => !('owner' in event))
    const orders = [...(before ? [before] : []), ...since].flatMap((event) =>
      'owner' in event ? [] : (event.snapshot.state?.vms ?? []),
    )
    for (const id of this.#kept)
      if (records.of(id) === undefined) {
        this.tally.destroyed++
        expect(
          orders.some(({ vmId, tombstone }) => vmId === id && tombstone),
          `${id} was destroyed and nobody deleted it`,
        ).toBe(true)
      }
    const recent = since.flatMap((event) => ('owner' in event ? [] : (event.snapshot.state?.vms ?? [])))
    for (const [id, run] of this.#ran) {
      const meant = recent.filter(({ vmId }) => vmId === id)
      const stopped = meant.some(({ tombstone, powerState }) => tombstone || powerState === 'stopped')
      if (!stopped) expect(backend.guests.has(id), `${id} runs on`).toBe(true)
      if (meant.length === 0) expect(backend.guests.get(id), `${id} is the same run`).toBe(run)
    }
    const last = this.#events.findLast(() => true)
    if (last && 'owner' in last)
      expect(
        this.#agent.rig.engine.report().vms.filter((vm) => !vm.unowned),
        'nothing of the old owner’s counts',
      ).toEqual([])
    else if (last) this.#checkState(last.snapshot)
  }

  #checkState({ state }: Snapshot): void {
    const { backend, records, engine } = this.#agent.rig
    for (const vm of state?.vms ?? []) {
      const record = records.of(vm.vmId)
      if (vm.tombstone) expect(backend.guests.has(vm.vmId), 'deleted').toBe(false)
      else {
        expect([record?.spec.name, record?.spec.restartCount], 'one state, whole').toEqual([vm.name, vm.restartCount])
        expect(backend.guests.has(vm.vmId), `${vm.name} is ${vm.powerState}`).toBe(vm.powerState === 'running')
      }
    }
    const named = new Set(state?.vms.map(({ vmId }) => vmId))
    for (const row of engine.report().vms)
      expect(row.unowned, 'unowned is what nobody names').toBe(!named.has(row.vmId))
    expect(engine.exposures().map(({ id }) => id)).toEqual(state?.exposures.map(({ id }) => id))
  }
}

/** What the store itself refuses is no step. */
function refusable(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!findFault(error) || findFault(error)?.code === 'app/bug') throw error
  }
}
