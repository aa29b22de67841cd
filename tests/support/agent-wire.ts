import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { create, toBinary } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { PORT_LIMITS } from '../../src/agent/exposures/limits.ts'
import type { Collection } from '../../src/agent/images/image-collector.ts'
import { type RpcServer, type RpcServerOptions, startRpcServer } from '../../src/agent/rpc/server.ts'
import type { ImagePut, ImageReceiver, SessionIdentity, SyncEngine } from '../../src/agent/rpc/sync-engine.ts'
import { ConsoleHub } from '../../src/agent/serial/console-hub.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import type { ConsoleRequest, ConsoleResponse } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import { ConsoleRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import type { HostMetrics } from '../../src/ipc/gen/eitri/agent/v1/host_pb.js'
import {
  DesiredStateSchema,
  type Report,
  ReportSchema,
  type Snapshot,
  SnapshotSchema,
  type SyncRequest,
  SyncRequestSchema,
  type SyncResponse,
} from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { helloMessage } from '../../src/ipc/hello-message.ts'
import { AGENT_PROTOCOL } from '../../src/ipc/units.ts'
import { WAIT_MS, within } from './within.ts'

export const FLEET = 'f'.repeat(32)
export const OTHER_FLEET = 'e'.repeat(32)
export const VM = 'a'.repeat(32)

/** Accepts by epoch alone and reports what it accepted. */
export class FakeEngine implements SyncEngine {
  readonly accepted: Snapshot[] = []
  epoch = 0n
  readonly rows: Report['vms'] = []
  acceptFails: Error | undefined
  metrics: HostMetrics | undefined
  disowned = 0
  readonly #listeners = new Set<() => void>()

  async accept(snapshot: Snapshot): Promise<'accepted' | 'fenced'> {
    if (this.acceptFails) throw this.acceptFails
    if (snapshot.epoch < this.epoch) return 'fenced'
    this.epoch = snapshot.epoch
    this.accepted.push(snapshot)
    return 'accepted'
  }
  async disown(): Promise<void> {
    this.epoch = 0n
    this.disowned++
  }
  held(): Snapshot | undefined {
    return this.accepted.at(-1)
  }
  report(): Report {
    const measured = this.metrics ? { metrics: this.metrics } : {}
    return create(ReportSchema, { lastSeenEpoch: this.epoch, vms: this.rows, ...measured })
  }
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }
  change(): void {
    for (const fn of this.#listeners) fn()
  }
  get listeners(): number {
    return this.#listeners.size
  }
  lastSeenDigest(): string {
    return Buffer.from(this.accepted.at(-1)?.contentSha256 ?? []).toString('hex')
  }
  lastSeenEpoch(): bigint {
    return this.epoch
  }
  capacity(): undefined {}
}

export class FakeIdentity implements SessionIdentity {
  readonly hostId = 'b'.repeat(32)
  fleetId = ''
  controllerName = ''
  adoptFails: Error | undefined
  readonly #keys = generateKeyPairSync('ed25519')

  publicKey(): Uint8Array {
    return Buffer.from(this.#keys.publicKey.export({ format: 'jwk' }).x!, 'base64url')
  }
  sign(message: Uint8Array): Uint8Array {
    return sign(null, message, this.#keys.privateKey)
  }
  async adopt(fleetId: string, controllerName: string): Promise<void> {
    if (this.adoptFails) throw this.adoptFails
    this.fleetId = fleetId
    this.controllerName = controllerName
  }
}

/** Keeps images in memory; checks digests as the real cache does. */
export class FakeImages implements ImageReceiver {
  collection: Collection = { remove: [], keep: [], free: 0, low: 0, unknown: '' }
  readonly collected: Parameters<ImageReceiver['collect']>[0][] = []
  readonly parts = new Map<string, Buffer>()
  readonly whole = new Map<string, Buffer>()
  writes = 0
  onWrite: (() => Promise<void>) | undefined

  stat(sha256: string) {
    const whole = this.whole.get(sha256)
    return { haveBytes: (whole ?? this.parts.get(sha256))?.length ?? 0, complete: whole !== undefined }
  }
  async collect(options: Parameters<ImageReceiver['collect']>[0]): Promise<Collection> {
    this.collected.push(options)
    return this.collection
  }
  async openPut(sha256: string, sizeBytes: number): Promise<ImagePut> {
    let held = this.parts.get(sha256) ?? Buffer.alloc(0)
    return {
      write: async (chunk) => {
        await this.onWrite?.()
        this.writes++
        held = Buffer.concat([held, chunk])
        this.parts.set(sha256, held)
      },
      finish: async () => {
        if (held.length < sizeBytes) return held.length
        this.parts.delete(sha256)
        if (createHash('sha256').update(held).digest('hex') !== sha256)
          throw new Fault('image/digest-mismatch', 'permanent', { image: sha256 })
        this.whole.set(sha256, held)
        return held.length
      },
      abort: async () => {},
    }
  }
}

export interface WireRig extends AsyncDisposable {
  dir: string
  socketPath: string
  engine: FakeEngine
  identity: FakeIdentity
  images: FakeImages
  hub: ConsoleHub
  server: RpcServer
  logPath: string
}

/** A listening agent wire over fakes, in its own directory. */
export async function wireRig(
  options: Partial<RpcServerOptions> & { keepBytes?: number; slackBytes?: number } = {},
): Promise<WireRig> {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-wire-'))
  const socketPath = join(dir, 'run', 'agent.sock')
  const logPath = join(dir, 'serial.log')
  const engine = new FakeEngine()
  const identity = new FakeIdentity()
  const images = new FakeImages()
  const { keepBytes, slackBytes, ...rest } = options
  const hub = new ConsoleHub({
    logPathOf: (id) => (id === VM ? logPath : undefined),
    ...(keepBytes === undefined ? {} : { keepBytes }),
    ...(slackBytes === undefined ? {} : { slackBytes }),
  })
  const server = await startRpcServer({
    socketPath,
    socketMode: 0o600,
    engine,
    consoles: hub,
    images,
    guests: {
      target: async (vmId) => Promise.reject(new Fault('port/no-way', 'transient', { vm: vmId })),
      limits: PORT_LIMITS,
    },
    identity,
    facts: {
      host: async () => Promise.reject(new Error('not looked')),
      whole: () => new Promise(() => {}),
    },
    network: { check: async () => [], mend: async () => [], undo: async () => [] },
    self: { version: '1.0.0', digest: '', provisioner: 'qemu', hostNetworks: [], bootId: 'boot', stateDir: dir },
    clocks: { setClock: async (vmId) => Promise.reject(new Fault('clock/not-running', 'permanent', { vm: vmId })) },
    history: { ask: async () => ({ stepMs: 10_000, steps: [] }) },
    commands: { show: async (vmId) => Promise.reject(new Fault('vm/not-found', 'permanent', { vm: vmId })) },
    log: silentLog,
    ...rest,
  })
  return {
    dir,
    socketPath,
    logPath,
    engine,
    identity,
    images,
    hub,
    server,
    async [Symbol.asyncDispose]() {
      await server.close()
      await hub.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export interface WireClient extends Disposable {
  client: Client<typeof AgentService>
  manager: Http2SessionManager
}

/** One HTTP/2 connection of its own to the socket. */
export function wireClient(socketPath: string): WireClient {
  const manager = new Http2SessionManager('http://agent.local', {}, { createConnection: () => connect(socketPath) })
  const transport = createConnectTransport({ baseUrl: 'http://agent.local', httpVersion: '2', sessionManager: manager })
  return { client: createClient(AgentService, transport), manager, [Symbol.dispose]: () => manager.abort() }
}

/** A stream of requests that a test pushes by hand. */
export class Pushed<T> implements AsyncIterable<T> {
  readonly #items: T[] = []
  #done = false
  #wake: (() => void) | undefined

  push(...items: T[]): void {
    this.#items.push(...items)
    this.#wake?.()
  }
  end(): void {
    this.#done = true
    this.#wake?.()
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const item = this.#items.shift()
      if (item !== undefined) yield item
      else if (this.#done) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

export interface AttachOptions {
  fleetId?: string
  controllerName?: string
  takeOver?: boolean
  protocolVersion?: number
  nonce?: Uint8Array
  suggestedGuestCidr?: string
  otherGuestCidrs?: string[]
}

export const attachFrame = ({ fleetId = FLEET, nonce = randomBytes(32), ...rest }: AttachOptions = {}): SyncRequest =>
  create(SyncRequestSchema, {
    message: { case: 'attach', value: { protocolVersion: AGENT_PROTOCOL, fleetId, nonce, ...rest } },
  })

export function snapshotFrame(epoch: bigint): SyncRequest {
  const state = create(DesiredStateSchema)
  const contentSha256 = createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()
  const value = create(SnapshotSchema, { epoch, contentSha256, state })
  return create(SyncRequestSchema, { message: { case: 'snapshot', value } })
}

/** A Sync stream driven frame by frame. */
export class SyncClient {
  readonly requests = new Pushed<SyncRequest>()
  readonly #responses: AsyncIterator<SyncResponse>

  constructor(client: Client<typeof AgentService>, signal?: AbortSignal) {
    this.#responses = client.sync(this.requests, signal ? { signal } : {})[Symbol.asyncIterator]()
  }

  /** The next frame; undefined at the end of the stream. */
  async next(): Promise<SyncResponse['message'] | undefined> {
    const next = await this.#responses.next()
    return next.done === true ? undefined : next.value.message
  }

  /** Skips frames until one of this kind. */
  async until<C extends 'hello' | 'report' | 'end'>(
    kind: C,
    want: (value: Extract<SyncResponse['message'], { case: C }>['value']) => boolean = () => true,
    waitMs = WAIT_MS,
  ): Promise<Extract<SyncResponse['message'], { case: C }>['value']> {
    let last: SyncResponse['message'] | undefined
    const found = async () => {
      for (;;) {
        last = await this.next()
        if (last === undefined) throw new Error(`the stream ended before ${kind}`)
        if (last.case === kind && want(last.value as never)) return last.value as never
      }
    }
    return await within(
      waitMs,
      found(),
      () => `no ${kind} as wanted; the last frame was ${inspect(last, { depth: 6 })}`,
    )
  }
}

/** Attaches and hands out the session id; the Sync stream lives as long as the connection. */
export async function attached(client: Client<typeof AgentService>, options: AttachOptions = {}) {
  const sync = new SyncClient(client)
  sync.requests.push(attachFrame(options))
  const hello = await sync.until('hello')
  return { sync, hello, sessionId: hello.sessionId }
}

export function helloIsSigned(
  hello: { identityPublicKey: Uint8Array; signature: Uint8Array; hostId: string },
  nonce: Uint8Array,
): boolean {
  const x = Buffer.from(hello.identityPublicKey).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, helloMessage(nonce, hello.hostId, AGENT_PROTOCOL), key, hello.signature)
}

/** A Console stream driven frame by frame. */
export class ConsoleStream {
  readonly requests = new Pushed<ConsoleRequest>()
  readonly #responses: AsyncIterator<ConsoleResponse>

  constructor(
    client: Client<typeof AgentService>,
    open: { sessionId: string; vmId?: string; fromOffset?: bigint; tailBytes?: bigint },
    signal?: AbortSignal,
  ) {
    this.requests.push(
      create(ConsoleRequestSchema, { message: { case: 'open', value: { vmId: VM, tailBytes: 0n, ...open } } }),
    )
    this.#responses = client.console(this.requests, signal ? { signal } : {})[Symbol.asyncIterator]()
  }

  ack(offset: bigint): void {
    this.requests.push(create(ConsoleRequestSchema, { message: { case: 'ack', value: { offset } } }))
  }
  type(data: Uint8Array): void {
    this.requests.push(create(ConsoleRequestSchema, { message: { case: 'input', value: { data } } }))
  }
  async next(): Promise<ConsoleResponse['message'] | undefined> {
    const next = await this.#responses.next()
    return next.done === true ? undefined : next.value.message
  }
}
