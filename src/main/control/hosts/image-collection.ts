import { create } from '@bufbuild/protobuf'
import { faultToMessage } from '../../../ipc/fault-wire.ts'
import { asFault } from '../../../ipc/faults.ts'
import type { CollectedImage, CollectImagesResponse, KeptImage } from '../../../ipc/gen/eitri/agent/v1/image_pb.js'
import { type CacheItem, CacheItemSchema, HostCollectionSchema } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { ActiveSession } from './agent-connection.ts'
import { askAgent } from './ask-agent.ts'

/** Reading every record of a large host and removing large files takes seconds, not minutes. */
const COLLECT_TIMEOUT_MS = 25_000

export interface CollectionDeps {
  sessions: { active(hostId: string): ActiveSession | undefined }
  /** Names of the catalogue's images with these bytes. */
  namesOf(sha256: string): string[]
}

/** What one host removed from its cache, or would remove; a host that does not answer is a fault in it. Never rejects. */
export async function collectOn(
  deps: CollectionDeps,
  host: { id: string; name: string },
  { dryRun, all }: { dryRun: boolean; all: boolean },
  signal: AbortSignal,
) {
  const said = { hostId: host.id, hostName: host.name }
  try {
    const answer = await askAgent(deps.sessions, host, ({ connection, sessionId }) =>
      connection.client.collectImages({ sessionId, dryRun, all }, { signal, timeoutMs: COLLECT_TIMEOUT_MS }),
    )
    return create(HostCollectionSchema, { ...said, ...collectionOf(answer, deps) })
  } catch (error) {
    return create(HostCollectionSchema, { ...said, fault: faultToMessage(asFault(error)) })
  }
}

function collectionOf({ removed, kept, freeBytes, lowBytes, unknown }: CollectImagesResponse, deps: CollectionDeps) {
  const item = (image: CollectedImage | KeptImage): CacheItem => {
    const { sha256, sizeBytes, whole, reason, unusedS } = image
    const vms = 'vms' in image ? image.vms : []
    return create(CacheItemSchema, { sha256, names: deps.namesOf(sha256), sizeBytes, whole, reason, unusedS, vms })
  }
  return { removed: removed.map(item), kept: kept.map(item), freeBytes, lowBytes, unknown }
}
