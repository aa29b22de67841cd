import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Identity } from '../../src/agent/records/identity.ts'
import type { HeldDesired } from '../../src/agent/rpc/desired-handler.ts'
import type { SyncEngine } from '../../src/agent/rpc/sync-engine.ts'
import type { Snapshot } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { Rig } from '../unit/agent/reconcile/rig.ts'
import { type WireRig, wireRig } from './agent-wire.ts'
import { restartAs, sidesOf } from './mortal-agent.ts'

const HOST_KEY = hostKeyBlob()

/** A snapshot the agent took, by the fleet it belonged to then. */
export interface Taken {
  fleetId: string
  snapshot: Snapshot
}

/** The agent's own sessions, identity, fence, engine and records behind its real socket; its guests are in memory. */
export class LiveAgent implements AsyncDisposable {
  readonly rig: Rig
  readonly socketPath: string
  /** Every snapshot it accepted, in order. */
  readonly taken: Taken[] = []
  /** Reports its sessions asked for. */
  reported = 0
  identity!: Identity
  readonly #changed = new Set<() => void>()
  #wire: WireRig | undefined
  readonly #dir: string

  private constructor(dir: string, rig: Rig) {
    this.#dir = dir
    this.rig = rig
    this.socketPath = join(dir, 'agent.sock')
  }

  /** `parent` holds its files. */
  static async open(parent: string = tmpdir()): Promise<LiveAgent> {
    const agent = new LiveAgent(mkdtempSync(join(parent, 'eitri-live-')), await Rig.open({ hostKey: HOST_KEY }))
    agent.rig.clock.wall = Date.now()
    await agent.#boot()
    return agent
  }

  get stateDir(): string {
    return this.#dir
  }

  /** Raw ed25519 key, base64, as a host row pins it. */
  get identityPublicKey(): string {
    return Buffer.from(this.identity.publicKey()).toString('base64')
  }

  /** Ids of VMs whose guest runs. */
  get running(): string[] {
    return [...this.rig.backend.guests.keys()].sort()
  }

  /** Ids of VMs with a record, quarantined ones too. */
  get kept(): string[] {
    return [...this.rig.records.texts.keys()].sort()
  }

  /** Reports at once, as after a change. */
  report(): void {
    for (const fn of this.#changed) fn()
  }

  /** Ends with its process and is started again on the same files; guests run on. */
  async restart(): Promise<void> {
    await this.#wire?.[Symbol.asyncDispose]()
    await this.rig.engine.stop()
    await this.#boot()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wire?.[Symbol.asyncDispose]()
    await this.rig[Symbol.asyncDispose]()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #boot(): Promise<void> {
    const identity = await Identity.load(join(this.#dir, 'identity.json'))
    this.identity = identity
    await restartAs(this.rig, identity)
    this.#wire = await wireRig({ engine: this.#watched(), identity, socketPath: this.socketPath })
  }

  /** The engine, with what it accepts noted. */
  #watched(): SyncEngine & HeldDesired {
    const { engine } = this.rig
    return {
      ...sidesOf(engine),
      accept: async (snapshot) => {
        const { fleetId } = this.identity
        const outcome = await engine.accept(snapshot)
        if (outcome === 'accepted') this.taken.push({ fleetId, snapshot })
        return outcome
      },
      report: () => {
        this.reported++
        return engine.report()
      },
      onChange: (fn) => {
        const stop = engine.onChange(fn)
        this.#changed.add(fn)
        return () => {
          stop()
          this.#changed.delete(fn)
        }
      },
      held: () => engine.held(),
    }
  }
}

/** One a certificate can be made for. */
function hostKeyBlob(): string {
  const raw = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const text = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
  return Buffer.concat([text(Buffer.from('ssh-ed25519')), text(raw)]).toString('base64')
}
