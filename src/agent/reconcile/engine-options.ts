import type { Capacity } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { ExposureStatus } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { DesiredStore } from '../records/desired-state.ts'
import type { RevokedList } from '../seed/ssh-trust.ts'
import type { PassDeps } from './pass-deps.ts'
import type { Measured } from './report.ts'

/** The identity's memory of what was accepted; `raiseEpoch` is durable before it resolves. */
export interface EpochKeeper {
  readonly epoch: bigint
  readonly epochDigest: string
  raiseEpoch(epoch: bigint, digest: string): Promise<void>
}

/** Follows what the engine says should be published, and of the guests; `look` is called when that may have changed. */
export interface PublishedPorts {
  look(): void
  statuses(): ExposureStatus[]
  /** Returns its stop function. */
  onChange(fn: () => void): () => void
}

export interface EngineOptions {
  passes: Omit<PassDeps, 'holds' | 'wanted' | 'revoked' | 'awaitsTurn'>
  desired: DesiredStore
  epochs: EpochKeeper
  images: {
    list(): { sha256: string; sizeBytes: number; unusedMs?: number }[]
    onComplete(fn: (sha256: string) => void): () => void
  }
  capacity(): Capacity | undefined
  /** Highest serial byte recorded. */
  consoleEnd(vmId: string): bigint
  /** A VM's directory is gone. */
  forgotten?(vmId: string): void
  /** Sentences of other parts for the report. */
  notices?(): string[]
  /** Absent = nothing is measured. */
  measured?: Measured
  /** What reports tell of beside VMs: its changes are reported at once. */
  beside?: readonly { onChange(fn: () => void): () => void }[]
  /** Absent = this host publishes nothing. */
  exposures?: PublishedPorts
  /** Keeps the list of revoked certificates where the operator's own sshd may read it; absent = nowhere. */
  revokedFile?: { keep(list: RevokedList): Promise<void> }
  passTimeoutMs?: number
}
