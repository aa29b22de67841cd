import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { type Snapshot, SnapshotSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { readIfPresent, writeDurable } from '../os/files.ts'

/** The last accepted snapshot, so that the agent goes on converging with no control plane connected. */
export interface DesiredStore {
  /** Undefined when none was accepted or the file cannot be read: then nothing is decided until the next snapshot. */
  load(): Promise<Snapshot | undefined>
  save(snapshot: Snapshot): Promise<void>
}

export const fileDesired = (path: string): DesiredStore => ({
  async load() {
    try {
      const bytes = await readIfPresent(path)
      if (bytes === undefined) return undefined
      const snapshot = fromBinary(SnapshotSchema, bytes)
      return snapshot.state ? snapshot : undefined
    } catch {
      return undefined
    }
  },
  save: (snapshot) => writeDurable('desired.save', path, toBinary(SnapshotSchema, snapshot)),
})
