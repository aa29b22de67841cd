import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  type CollectImagesRequest,
  type CollectImagesResponse,
  CollectImagesResponseSchema,
  type PutImageRequest,
  type PutImageResponse,
  PutImageResponseSchema,
  type PutImageStart,
  type StatImageRequest,
  type StatImageResponse,
  StatImageResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/image_pb.js'
import { isSha256 } from '../../ipc/names.ts'
import type { CacheItem } from '../images/gc-plan.ts'
import { FileFrames, invalidFrame } from './file-frames.ts'
import type { AgentSessions } from './sessions.ts'
import type { ImagePut, ImageReceiver } from './sync-engine.ts'

const WORDS = { start: 'PutImageStart', frame: 'image frame', chunk: 'image chunk' }

/** VMs named of one image that stays. */
const MAX_USERS = 20

/** StatImage, PutImage and CollectImages over one image cache. */
export class ImageHandler {
  readonly #images: ImageReceiver
  readonly #sessions: AgentSessions

  constructor(images: ImageReceiver, sessions: AgentSessions) {
    this.#images = images
    this.#sessions = sessions
  }

  stat(request: StatImageRequest): StatImageResponse {
    this.#sessions.require(request.sessionId)
    requireDigest(request.sha256)
    const { haveBytes, complete } = this.#images.stat(request.sha256)
    return create(StatImageResponseSchema, { haveBytes: BigInt(haveBytes), complete })
  }

  /** Removes what nothing refers to, or says what would go now. */
  async collect({ sessionId, dryRun, all }: CollectImagesRequest): Promise<CollectImagesResponse> {
    this.#sessions.require(sessionId)
    const { remove, keep, free, low, unknown } = await this.#images.collect({ dryRun, all })
    return create(CollectImagesResponseSchema, {
      removed: remove.map((item) => ({ ...wireItem(item), reason: item.reason })),
      kept: keep.map((item) => ({ ...wireItem(item), reason: item.reason, vms: item.users.slice(0, MAX_USERS) })),
      freeBytes: BigInt(Math.floor(free)),
      lowBytes: BigInt(Math.floor(low)),
      unknown,
    })
  }

  /** Raises out_of_range on a wrong offset, image/digest-mismatch, host/disk-full. Whatever arrived stays for a resume. */
  async put(requests: AsyncIterable<PutImageRequest>, signal: AbortSignal): Promise<PutImageResponse> {
    const frames = new FileFrames(requests, WORDS)
    const start = await frames.start(signal)
    requireDigest(start.sha256)
    if (start.sizeBytes === 0n || start.sizeBytes > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed('no usable size')
    const over = AbortSignal.any([signal, this.#sessions.require(start.sessionId).signal])
    return create(PutImageResponseSchema, { haveBytes: BigInt(await this.#receive(start, frames, over)) })
  }

  async #receive(start: PutImageStart, frames: FileFrames<PutImageStart>, over: AbortSignal): Promise<number> {
    const size = Number(start.sizeBytes)
    const have = this.#images.stat(start.sha256)
    if (have.complete) return have.haveBytes
    if (BigInt(have.haveBytes) !== start.offset)
      throw new ConnectError(`offset ${start.offset}, but ${have.haveBytes} bytes are here`, Code.OutOfRange)
    const put = await this.#images.openPut(start.sha256, size, have.haveBytes)
    let whole = false
    try {
      whole = await copyChunks(put, frames, size - have.haveBytes, over)
    } finally {
      if (!whole) await put.abort()
    }
    return whole ? await put.finish() : this.#images.stat(start.sha256).haveBytes
  }
}

const wireItem = ({ sha256, bytes, whole, unusedMs }: CacheItem) => ({
  sha256,
  whole,
  sizeBytes: BigInt(bytes),
  unusedS: BigInt(Math.floor(unusedMs / 1000)),
})

/** True once exactly `missing` bytes are written; false when the peer ended before. */
async function copyChunks(
  put: ImagePut,
  frames: FileFrames<PutImageStart>,
  missing: number,
  over: AbortSignal,
): Promise<boolean> {
  let left = missing
  for await (const chunk of frames.chunks(missing, over)) {
    await put.write(chunk)
    left -= chunk.length
  }
  return left === 0
}

function requireDigest(sha256: string): void {
  if (!isSha256(sha256)) throw malformed('sha256 is not 64 lowercase hex characters')
}

const malformed = (problem: string) => invalidFrame(WORDS, problem)
