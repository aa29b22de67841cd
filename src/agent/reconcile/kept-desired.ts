import { create } from '@bufbuild/protobuf'
import type { Log } from '../../ipc/base/log.ts'
import {
  type DesiredState,
  DesiredStateSchema,
  type Snapshot,
  SnapshotSchema,
} from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { Desired, DesiredStore } from '../records/desired-state.ts'
import { checkedState } from './fence.ts'
import { WantedVms } from './wanted-vms.ts'

const NOTHING_WANTED: DesiredState = create(DesiredStateSchema)

/** What the VMs of this host should be: the last accepted snapshot, kept so that it outlives the agent. */
export class KeptDesired {
  readonly #store: DesiredStore
  readonly #log: Log
  #wanted = WantedVms.of(undefined)
  #snapshot: Snapshot | undefined
  #problem = ''

  constructor(store: DesiredStore, log: Log) {
    this.#store = store
    this.#log = log
  }

  get wanted(): WantedVms {
    return this.#wanted
  }

  /** What is wrong with the kept snapshot: then nothing is decided until the next one. '' = nothing. */
  get problem(): string {
    return this.#problem
  }

  /** As it was accepted from the present owner; undefined = none was, or what was kept cannot be read. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot && this.#snapshot.epoch > 0n ? this.#snapshot : undefined
  }

  /** Takes up what an earlier agent kept; `highest` is the newest epoch of the fleet the agent belongs to. */
  async load(highest: bigint): Promise<void> {
    const read = await this.#store.load()
    if (read.kind === 'none') return
    try {
      if (read.kind === 'unreadable') throw new Error(read.problem)
      const desired = ofThisOwner(read.desired, highest)
      this.#wanted = WantedVms.of(desired)
      this.#snapshot = desired.snapshot
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error)
      this.#log.error('engine.desired-unreadable', { problem: this.#problem })
    }
  }

  /** Durable before it counts. `isHere` says of which VMs something is on this host. */
  async keep(snapshot: Snapshot, state: DesiredState, isHere: (vmId: string) => boolean): Promise<void> {
    const desired = { snapshot, deletedIn: this.#wanted.nextDeletedIn(state, snapshot.epoch, isHere) }
    await this.#store.save(desired)
    this.#wanted = WantedVms.of(desired)
    this.#snapshot = snapshot
    this.#problem = ''
  }

  /** Nothing is wanted any more, durably: every VM is unowned. */
  async drop(isHere: (vmId: string) => boolean): Promise<void> {
    await this.keep(create(SnapshotSchema, { epoch: 0n, state: NOTHING_WANTED }), NOTHING_WANTED, isHere)
  }
}

function ofThisOwner(desired: Desired, highest: bigint): Desired {
  checkedState(desired.snapshot)
  // Newer than anything this owner ever sent: an older owner's, who was told to go just before the agent ended.
  if (desired.snapshot.epoch <= highest) return desired
  return { ...desired, snapshot: create(SnapshotSchema, { state: NOTHING_WANTED }) }
}
