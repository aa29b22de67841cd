import { join } from 'node:path'
import type { Engine } from '../../src/agent/reconcile/engine.ts'
import { Identity } from '../../src/agent/records/identity.ts'
import { AgentSessions } from '../../src/agent/rpc/sessions.ts'
import type { SessionIdentity, SyncEngine } from '../../src/agent/rpc/sync-engine.ts'
import type { SyncSessionParts } from '../../src/agent/rpc/sync-session.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { Rig } from '../unit/agent/reconcile/rig.ts'

/** What a session needs of an agent, as it is at the moment. */
export interface AgentSide {
  engine: Engine
  sessions: AgentSessions
  identity: SessionIdentity
}

const NEVER = new Promise<never>(() => {})

/** A session's parts over a real engine whose `accept` is another's, on a host nobody has looked at. */
export function sessionParts(
  { engine, identity, sessions }: AgentSide,
  accept: SyncEngine['accept'],
): SyncSessionParts {
  const facts = {
    host: () => Promise.reject(new Error('not looked')),
    whole: () => NEVER,
    metrics: async () => undefined,
  }
  const self = { version: '1', digest: '', provisioner: 'fake', hostNetworks: [], bootId: 'b', stateDir: '/s' }
  return { engine: { ...sidesOf(engine), accept }, identity, sessions, facts, self, log: silentLog }
}

/** What sessions see of an engine, its capacity left out. */
export const sidesOf = (engine: Engine): SyncEngine => ({
  accept: (snapshot) => engine.accept(snapshot),
  disown: () => engine.disown(),
  report: () => engine.report(),
  onChange: (fn) => engine.onChange(fn),
  lastSeenEpoch: () => engine.lastSeenEpoch(),
  lastSeenDigest: () => engine.lastSeenDigest(),
  capacity: () => undefined,
})

/** Starts the rig's engine on what this identity remembers; `disk` does what it writes of it. */
export async function restartAs(rig: Rig, identity: Identity, disk: Disk = (write) => write()): Promise<void> {
  Object.assign(rig, {
    epochs: {
      get epoch() {
        return identity.epoch
      },
      get epochDigest() {
        return identity.epochDigest
      },
      raiseEpoch: (epoch: bigint, digest: string) => disk(() => identity.raiseEpoch(epoch, digest)),
    },
  })
  await rig.restart()
}

type Disk = (write: () => Promise<void>) => Promise<void>

/** An agent's real sessions, identity, fence and engine. Its disk can fail, and it can end; guests run on. */
export class MortalAgent {
  readonly rig: Rig
  identity!: Identity
  sessions!: AgentSessions
  /** The next write fails. */
  diskFails = false
  readonly #dir: string
  readonly #owned: (fleetId: string, name: string, before: string) => void
  /** The life of one process: writes under way, and none once it is dead. */
  #life = { dead: false, writes: new Set<Promise<void>>() }

  private constructor(dir: string, rig: Rig, owned: (fleetId: string, name: string, before: string) => void) {
    this.#dir = dir
    this.rig = rig
    this.#owned = owned
  }

  /** `owned` hears of each owner it takes, with the fleet of the one before. */
  static async open(
    dir: string,
    owned: (fleetId: string, name: string, before: string) => void,
    wall?: number,
  ): Promise<MortalAgent> {
    const agent = new MortalAgent(dir, await Rig.open(), owned)
    if (wall !== undefined) agent.rig.clock.wall = wall
    await agent.#boot()
    return agent
  }

  /** As it is at the moment. */
  get side(): AgentSide {
    return { engine: this.rig.engine, sessions: this.sessions, identity: this.identity }
  }

  /** Ends and is started again; `cut` ends what is connected to it. */
  async restart(cut: () => Promise<void>): Promise<void> {
    this.#life.dead = true
    await Promise.allSettled(this.#life.writes)
    await cut()
    await this.rig.engine.stop()
    this.#life = { dead: false, writes: new Set() }
    await this.#boot()
  }

  async #boot(): Promise<void> {
    const identity = await Identity.load(join(this.#dir, 'identity.json'))
    this.identity = identity
    const disk = this.#diskOf(this.#life)
    await restartAs(this.rig, identity, disk)
    this.sessions = new AgentSessions(this.#noted(identity, disk), this.rig.engine)
  }

  /** The identity, with each change of owner noted. */
  #noted(identity: Identity, disk: Disk): SessionIdentity {
    const adopt = async (fleetId: string, name: string) => {
      const before = identity.fleetId
      await disk(() => identity.adopt(fleetId, name))
      this.#owned(fleetId, name, before)
    }
    return new Proxy(identity, {
      get: (target, key) => {
        if (key === 'adopt') return adopt
        const value = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #diskOf(life: { dead: boolean; writes: Set<Promise<void>> }): Disk {
    return async (write) => {
      if (life.dead || this.diskFails) {
        this.diskFails = false
        throw new Error('no space left on device')
      }
      const writing = write()
      life.writes.add(writing)
      await writing.finally(() => life.writes.delete(writing))
    }
  }
}
