import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { AgentFeature } from '../../ipc/agent-features.ts'
import type { Capacity, HostFacts } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { AgentUpgrade, Report, Snapshot } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { UpgradeOutcome } from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import type { Capabilities } from '../backends/backend.ts'
import type { Collection } from '../images/image-collector.ts'

/** The reconcile engine as a session sees it. None of these waits for VM work. */
export interface SyncEngine {
  /** Routes the snapshot once it and its epoch are durable. Raises when it could not be kept. */
  accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'>
  /** The agent has a new owner: what the old one wanted counts no longer, durably, and every VM goes on as it is. */
  disown(): Promise<void>
  /** What is, from the last results. */
  report(): Report
  /** Calls `fn` when a row changed; returns its stop function. */
  onChange(fn: () => void): () => void
  /** Highest epoch accepted; 0 = none yet. */
  lastSeenEpoch(): bigint
  /** Hex, of the content of that epoch; '' = none yet. */
  lastSeenDigest(): string
  capacity(): Capacity | undefined
}

/** The agent's own identity. `adopt` is durable before it resolves and starts epochs anew when the fleet changes. */
export interface SessionIdentity {
  readonly hostId: string
  /** Empty = belongs to no fleet yet. */
  readonly fleetId: string
  readonly controllerName: string
  /** Raw ed25519 public key, 32 bytes. */
  publicKey(): Uint8Array
  sign(message: Uint8Array): Uint8Array
  adopt(fleetId: string, controllerName: string): Promise<void>
}

/** The image cache as PutImage uses it. */
export interface ImageReceiver {
  stat(sha256: string): { haveBytes: number; complete: boolean }
  /** A newer push of the same image ends the older. */
  openPut(sha256: string, sizeBytes: number, offset: number): Promise<ImagePut>
  /** Removes images nothing refers to, or with `dryRun` says what would go. */
  collect(options: { dryRun: boolean; all: boolean }): Promise<Collection>
}

/** One push under way. `finish` checks the digest; `abort` keeps what arrived. Exactly one of them ends it. */
export interface ImagePut {
  write(chunk: Uint8Array): Promise<void>
  finish(): Promise<number>
  abort(): Promise<void>
}

export interface AgentFacts {
  /** Never waits for the probe: the facts say when it still runs. */
  host(): Promise<HostFacts>
  /** The same with the probe over. */
  whole(): Promise<HostFacts>
}

/** What the agent says of itself that does not change while it runs. */
export interface AgentSelf {
  version: string
  /** Build digest; empty = run from source. */
  digest: string
  /** Backend name; empty = none usable. */
  provisioner: string
  /** Undefined = nothing to say of a backend. */
  capabilities?: Capabilities
  hostNetworks: string[]
  bootId: string
  stateDir: string
  /** Absent = none. */
  features?: readonly AgentFeature[]
  /** What kind of program runs; absent = not said. */
  program?: 'executable' | 'bundle' | 'source'
}

/** The way in of the control plane a host joined. `standing` may be called with every report and never rejects. */
export interface JoinedWay {
  /** '' = none for this fleet. */
  token(fleetId: string): Promise<string>
  standing(fleetId: string): void
  /** Undefined = it does not end by date. */
  endsAt(): Timestamp | undefined
  /** False = there was none. */
  drop(): Promise<boolean>
}

/** What becomes of offers to take another agent in this one's place. */
export interface UpgradeTaker {
  offered(offer: AgentUpgrade | undefined): void
  /** Undefined = none was ever offered. */
  outcome(): UpgradeOutcome | undefined
}
