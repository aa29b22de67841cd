import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { Fault } from '../../ipc/faults.ts'
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
import { LIMITS, TIMES } from '../../ipc/units.ts'
import type { CacheItem } from '../images/gc-plan.ts'
import { nextWithin } from './deadlines.ts'
import type { AgentSessions } from './sessions.ts'
import type { ImagePut, ImageReceiver } from './sync-engine.ts'

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
    const incoming = requests[Symbol.asyncIterator]()
    const start = await this.#start(incoming, signal)
    const over = AbortSignal.any([signal, this.#sessions.require(start.sessionId).signal])
    return create(PutImageResponseSchema, { haveBytes: BigInt(await this.#receive(start, incoming, over)) })
  }

  async #start(incoming: AsyncIterator<PutImageRequest>, signal: AbortSignal): Promise<PutImageStart> {
    const first = await nextWithin(incoming, TIMES.snapshotWriteMs, stalled, signal)
    if (first.done === true || first.value.message.case !== 'start')
      throw malformed('the first frame must be PutImageStart')
    const start = first.value.message.value
    requireDigest(start.sha256)
    if (start.sizeBytes === 0n || start.sizeBytes > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed('no usable size')
    return start
  }

  async #receive(start: PutImageStart, incoming: AsyncIterator<PutImageRequest>, over: AbortSignal): Promise<number> {
    const size = Number(start.sizeBytes)
    const have = this.#images.stat(start.sha256)
    if (have.complete) return have.haveBytes
    if (BigInt(have.haveBytes) !== start.offset)
      throw new ConnectError(`offset ${start.offset}, but ${have.haveBytes} bytes are here`, Code.OutOfRange)
    const put = await this.#images.openPut(start.sha256, size, have.haveBytes)
    let whole = false
    try {
      whole = await copyChunks(put, incoming, size - have.haveBytes, over)
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
  incoming: AsyncIterator<PutImageRequest>,
  missing: number,
  over: AbortSignal,
): Promise<boolean> {
  for (let left = missing; ; ) {
    const next = await nextWithin(incoming, TIMES.snapshotWriteMs, stalled, over)
    if (next.done === true) return left === 0
    const { message } = next.value
    if (message.case !== 'chunk') throw malformed(`${message.case ?? 'an empty frame'} between chunks`)
    const chunk = message.value
    if (chunk.length > LIMITS.imageChunkBytes)
      throw new Fault('input/too-large', 'permanent', { message: `image chunk of ${chunk.length} bytes` })
    if (chunk.length > left) throw malformed('more bytes than the size it declared')
    await put.write(chunk)
    left -= chunk.length
  }
}

function requireDigest(sha256: string): void {
  if (!isSha256(sha256)) throw malformed('sha256 is not 64 lowercase hex characters')
}

const stalled = () => new Fault('app/timeout', 'transient', { timeout: `${TIMES.snapshotWriteMs} ms` })
const malformed = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'image frame', problem })
