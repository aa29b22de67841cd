import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { fullJitterMs } from '../../../ipc/base/backoff.ts'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import {
  type PutImageRequest,
  PutImageRequestSchema,
  type WantedImage,
} from '../../../ipc/gen/eitri/agent/v1/image_pb.js'
import { isSha256 } from '../../../ipc/names.ts'
import { LIMITS } from '../../../ipc/units.ts'
import type { ActiveSession, AgentConnection, HostConnector } from './agent-connection.ts'

export interface ImagePushDeps {
  /** Folder of the images kept here, by digest. */
  images: string
  connectorOf(hostId: string): HostConnector | undefined
  sessions: { active(hostId: string): ActiveSession | undefined }
  clock: Clock
  log: Log
}

/** Bytes of one image on their way to one host. */
export interface PushProgress {
  hostId: string
  sha256: string
  doneBytes: number
  totalBytes: number
}

/** Images wanted by one host at once; more are taken up by a later report. */
const MAX_WANTED = 64
const STAT_TIMEOUT_MS = 15_000
/** One try; a push that goes on resumes where it stopped. */
const PUSH_TIMEOUT_MS = 60 * 60_000

/** Sends hosts the images they wait for: one at a time per host, on a connection of its own, resumed by offset. */
export class ImagePush {
  readonly #deps: ImagePushDeps
  readonly #hosts = new Map<string, HostPush>()

  constructor(deps: ImagePushDeps) {
    this.#deps = deps
  }

  /** What the host wants now, as its last report says; replaces what it wanted before. Never waits. */
  want(hostId: string, wanted: readonly Pick<WantedImage, 'sha256'>[]): void {
    const digests = wanted
      .map(({ sha256 }) => sha256)
      .filter(isSha256)
      .slice(0, MAX_WANTED)
    let push = this.#hosts.get(hostId)
    if (!push) {
      if (digests.length === 0) return
      push = new HostPush(this.#deps, hostId, () => this.#hosts.delete(hostId))
      this.#hosts.set(hostId, push)
    }
    push.want(digests)
  }

  /** What is being sent; undefined = nothing. */
  progress(hostId: string): PushProgress | undefined {
    return this.#hosts.get(hostId)?.progress
  }

  /** Ends the pushes to one host, or to all. */
  async stop(hostId?: string): Promise<void> {
    const pushes = [...this.#hosts].filter(([id]) => hostId === undefined || id === hostId)
    await Promise.all(pushes.map(([, push]) => push.stop()))
  }
}

class HostPush {
  readonly #deps: ImagePushDeps
  readonly #hostId: string
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  #wanted: string[] = []
  progress: PushProgress | undefined

  constructor(deps: ImagePushDeps, hostId: string, over: () => void) {
    this.#deps = deps
    this.#hostId = hostId
    this.#done = Promise.resolve()
      .then(() => this.#run())
      .finally(over)
  }

  want(digests: string[]): void {
    this.#wanted = digests
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Fault('app/cancelled', 'cancelled'))
    await this.#done
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps
    const { signal } = this.#stop
    for (let attempt = 0; this.#wanted.length > 0 && !signal.aborted; ) {
      const sha256 = this.#wanted[0]!
      try {
        await this.#push(sha256, AbortSignal.any([signal, AbortSignal.timeout(PUSH_TIMEOUT_MS)]))
        this.#wanted = this.#wanted.filter((digest) => digest !== sha256)
        attempt = 0
      } catch (error) {
        if (signal.aborted) return
        const { code, message } = asFault(error)
        log.warn('image.push', { host: this.#hostId, sha256, code, message })
        // The next one may be luckier; this one waits its turn.
        this.#wanted = [...this.#wanted.slice(1), sha256]
        await clock.sleep(fullJitterMs(attempt++), signal).catch(() => {})
      } finally {
        this.progress = undefined
      }
    }
  }

  async #push(sha256: string, signal: AbortSignal): Promise<void> {
    const { images, connectorOf, sessions } = this.#deps
    const session = sessions.active(this.#hostId)
    const connector = connectorOf(this.#hostId)
    if (!session || !connector)
      throw new Fault('image/push-failed', 'transient', { detail: 'the host is not connected' })
    const file = await open(join(images, sha256)).catch((error: unknown) => {
      throw new Fault('image/not-found', 'permanent', { image: sha256 }, { cause: error })
    })
    try {
      const connection = await connector.connectBulk(signal)
      try {
        await this.#send(connection, { sessionId: session.sessionId, sha256, file, signal })
      } finally {
        connection.close(new Fault('app/cancelled', 'cancelled'))
      }
    } finally {
      await file.close()
    }
  }

  async #send(
    { client }: AgentConnection,
    { sessionId, sha256, file, signal }: { sessionId: string; sha256: string; file: FileHandle; signal: AbortSignal },
  ): Promise<void> {
    const size = (await file.stat()).size
    const { haveBytes, complete } = await client
      .statImage({ sessionId, sha256 }, { signal, timeoutMs: STAT_TIMEOUT_MS })
      .catch(translated)
    if (complete) return
    const progress = { hostId: this.#hostId, sha256, doneBytes: Number(haveBytes), totalBytes: size }
    this.progress = progress
    const start = { sessionId, sha256, sizeBytes: BigInt(size), offset: haveBytes }
    const requests = putRequests(file, start, (done) => {
      progress.doneBytes = done
    })
    await client.putImage(requests, { signal }).catch(translated)
  }
}

interface PutStart {
  sessionId: string
  sha256: string
  sizeBytes: bigint
  offset: bigint
}

/** Pull-based: a chunk is read when the window has room for it. */
async function* putRequests(
  file: FileHandle,
  start: PutStart,
  sent: (doneBytes: number) => void,
): AsyncGenerator<PutImageRequest> {
  yield create(PutImageRequestSchema, { message: { case: 'start', value: start } })
  const size = Number(start.sizeBytes)
  for (let at = Number(start.offset); at < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(LIMITS.imageChunkBytes, size - at))
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
    if (bytesRead === 0) throw new Fault('image/push-failed', 'permanent', { image: start.sha256, detail: 'it shrank' })
    at += bytesRead
    yield create(PutImageRequestSchema, { message: { case: 'chunk', value: chunk.subarray(0, bytesRead) } })
    sent(at)
  }
}

function translated(error: unknown): never {
  throw fromConnectError(error, 'image/push-failed')
}
