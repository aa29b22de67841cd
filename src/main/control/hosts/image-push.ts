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
import type { ActiveSession, AgentConnection } from './agent-connection.ts'
import { ImageFileCheck } from './image-file-check.ts'
import { type Pace, pacedPieces, paceFor } from './pace.ts'

export interface ImagePushDeps {
  /** Folder of the images kept here, by digest. */
  images: string
  sessions: { active(hostId: string): ActiveSession | undefined }
  clock: Clock
  log: Log
}

/** How one image that a host waits for fares. */
export interface PushState {
  /** Absent = not being sent now. */
  progress?: { doneBytes: number; totalBytes: number }
  /** Why the last try failed; absent once bytes go on. */
  fault?: Fault
}

/** Images wanted by one host at once; more are taken up by a later report. */
const MAX_WANTED = 64
const STAT_TIMEOUT_MS = 15_000
/** One try; a push that goes on resumes where it stopped. */
const PUSH_TIMEOUT_MS = 60 * 60_000
/** A host that refuses may do so when the first chunk is under way already. */
const GOES_ON_CHUNKS = 2

/** Sends hosts the images they wait for: one at a time per host, beside what else its link carries, resumed by offset. */
export class ImagePush {
  readonly #deps: ImagePushDeps
  readonly #check = new ImageFileCheck()
  readonly #hosts = new Map<string, HostPush>()
  readonly #listeners = new Set<(hostId: string) => void>()

  constructor(deps: ImagePushDeps) {
    this.#deps = deps
  }

  /** What the host wants now, as its last report says; replaces what it wanted before. Never waits. */
  want(hostId: string, wanted: readonly Pick<WantedImage, 'sha256'>[]): void {
    const digests = wanted
      .map(({ sha256 }) => sha256)
      .filter(isSha256)
      .slice(0, MAX_WANTED)
    if (digests.length > 0 || this.#hosts.has(hostId)) this.#of(hostId).want(digests)
  }

  /** Sends a host what it did not wait for, behind what it does; goes on until the signal aborts. */
  async ask(hostId: string, sha256: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const push = this.#of(hostId)
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const asking = { resolve, reject }
    push.ask(sha256, asking)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', abort)
      push.forget(sha256, asking)
    }
  }

  #of(hostId: string): HostPush {
    const known = this.#hosts.get(hostId)
    if (known) return known
    const push = new HostPush(this.#deps, this.#check, hostId, {
      changed: () => this.#tell(hostId),
      over: () => this.#hosts.delete(hostId),
    })
    this.#hosts.set(hostId, push)
    return push
  }

  /** Undefined = not wanted, or its turn has not come. */
  state(hostId: string, sha256: string): PushState | undefined {
    return this.#hosts.get(hostId)?.states.get(sha256)
  }

  /** Called when a state of this host changed, for each chunk too; returns its stop function. */
  onChange(listener: (hostId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends the pushes to one host, or to all. */
  async stop(hostId?: string): Promise<void> {
    const pushes = [...this.#hosts].filter(([id]) => hostId === undefined || id === hostId)
    await Promise.all(pushes.map(([, push]) => push.stop()))
  }

  #tell(hostId: string): void {
    for (const listener of this.#listeners) listener(hostId)
  }
}

interface Asking {
  resolve(): void
  reject(reason: unknown): void
}

class HostPush {
  readonly #deps: ImagePushDeps
  readonly #hostId: string
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  readonly #check: ImageFileCheck
  readonly #changed: () => void
  readonly states = new Map<string, PushState>()
  #reported: string[] = []
  #wanted: string[] = []
  #sending: { sha256: string; withdraw: AbortController } | undefined
  /** Who waits for which, each until it gives up: two that ask for the same one wait for the same sending. */
  readonly #asked = new Map<string, Set<Asking>>()

  constructor(
    deps: ImagePushDeps,
    check: ImageFileCheck,
    hostId: string,
    { changed, over }: { changed: () => void; over: () => void },
  ) {
    this.#deps = deps
    this.#check = check
    this.#hostId = hostId
    this.#changed = changed
    // At once behind the last look at what is wanted: one who asks later gets a new one.
    this.#done = Promise.resolve().then(() => this.#run(over))
  }

  want(digests: string[]): void {
    this.#reported = digests
    this.#gather()
  }

  ask(sha256: string, asking: Asking): void {
    const waiting = this.#asked.get(sha256) ?? new Set()
    this.#asked.set(sha256, waiting.add(asking))
    this.#gather()
  }

  forget(sha256: string, asking: Asking): void {
    const waiting = this.#asked.get(sha256)
    waiting?.delete(asking)
    if (waiting?.size === 0) this.#asked.delete(sha256)
    this.#gather()
    // Nobody waits for it any more, the host neither: what is under way ends.
    if (this.#sending?.sha256 === sha256 && !this.#wanted.includes(sha256)) this.#sending.withdraw.abort()
  }

  /** In the order they are tried in already, new ones behind. */
  #gather(): void {
    const all = new Set([...this.#reported, ...this.#asked.keys()])
    this.#wanted = [...this.#wanted.filter((sha256) => all.has(sha256)), ...all].filter(
      (d, i, list) => list.indexOf(d) === i,
    )
    for (const sha256 of this.states.keys()) if (!all.has(sha256)) this.states.delete(sha256)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Fault('app/cancelled', 'cancelled'))
    await this.#done
  }

  async #run(over: () => void): Promise<void> {
    try {
      await this.#pushAll()
    } finally {
      over()
      for (const waiting of this.#asked.values()) for (const { reject } of waiting) reject(this.#stop.signal.reason)
    }
  }

  async #pushAll(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#stop
    for (let attempt = 0; this.#wanted.length > 0 && !signal.aborted; ) {
      const sha256 = this.#wanted[0]!
      const withdraw = new AbortController()
      this.#sending = { sha256, withdraw }
      try {
        await this.#push(sha256, AbortSignal.any([signal, withdraw.signal, AbortSignal.timeout(PUSH_TIMEOUT_MS)]))
        this.#wanted = this.#wanted.filter((digest) => digest !== sha256)
        this.states.delete(sha256)
        for (const { resolve } of this.#asked.get(sha256) ?? []) resolve()
        this.#changed()
        attempt = 0
      } catch (error) {
        if (signal.aborted) return
        if (withdraw.signal.aborted) continue
        this.#failed(sha256, asFault(error))
        await clock.sleep(fullJitterMs(attempt++), signal).catch(() => {})
      }
    }
  }

  #failed(sha256: string, fault: Fault): void {
    const { code, message } = fault
    this.#deps.log.warn('image.push', { host: this.#hostId, sha256, code, message })
    if (code === 'image/digest-mismatch') this.#check.doubt(sha256)
    if (fault.disposition === 'permanent') for (const { reject } of this.#asked.get(sha256) ?? []) reject(fault)
    const wanted = this.#wanted.includes(sha256)
    // The next one may be luckier; this one waits its turn.
    if (wanted) this.#wanted = [...this.#wanted.filter((digest) => digest !== sha256), sha256]
    // A host that is away says so itself.
    if (wanted && code !== 'host/no-answer') this.states.set(sha256, { fault })
    else this.states.delete(sha256)
    this.#changed()
  }

  async #push(sha256: string, signal: AbortSignal): Promise<void> {
    const { images, sessions } = this.#deps
    const session = sessions.active(this.#hostId)
    if (!session) throw new Fault('host/no-answer', 'transient', { host: this.#hostId })
    const file = await open(join(images, sha256)).catch((cause: unknown) => {
      const detail = 'its file is missing where images are kept'
      throw new Fault('image/push-failed', 'permanent', { image: sha256, detail }, { cause })
    })
    try {
      await this.#check.require(sha256, file, signal)
      const connection = await session.connection.bulk(signal)
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
    connection: AgentConnection,
    { sessionId, sha256, file, signal }: { sessionId: string; sha256: string; file: FileHandle; signal: AbortSignal },
  ): Promise<void> {
    const { client } = connection
    const size = (await file.stat()).size
    const { haveBytes, complete } = await client
      .statImage({ sessionId, sha256 }, { signal, timeoutMs: STAT_TIMEOUT_MS })
      .catch(translated)
    if (complete) return
    const offset = Number(haveBytes)
    const fault = this.states.get(sha256)?.fault
    const shown = (doneBytes: number) => {
      const goesOn = doneBytes - offset >= GOES_ON_CHUNKS * LIMITS.imageChunkBytes
      this.states.set(sha256, { progress: { doneBytes, totalBytes: size }, ...(fault && !goesOn ? { fault } : {}) })
      this.#changed()
    }
    shown(offset)
    const pace = paceFor(connection, LIMITS.imageChunkBytes, () => this.#deps.clock.monotonic())
    const requests = putRequests(file, { sessionId, sha256, sizeBytes: BigInt(size), offset: haveBytes }, shown, pace)
    await client.putImage(requests, { signal }).catch(translated)
  }
}

interface PutStart {
  sessionId: string
  sha256: string
  sizeBytes: bigint
  offset: bigint
}

async function* putRequests(
  file: FileHandle,
  start: PutStart,
  sent: (doneBytes: number) => void,
  pace: Pace,
): AsyncGenerator<PutImageRequest> {
  yield create(PutImageRequestSchema, { message: { case: 'start', value: start } })
  const shrank = () => new Fault('image/push-failed', 'permanent', { image: start.sha256, detail: 'it shrank' })
  const rest = { file, from: Number(start.offset), size: Number(start.sizeBytes), pace, sent, shrank }
  for await (const value of pacedPieces(rest))
    yield create(PutImageRequestSchema, { message: { case: 'chunk', value } })
}

function translated(error: unknown): never {
  throw fromConnectError(error, 'image/push-failed')
}
