import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import type { SetGuestClockRequest, SetGuestClockResponseSchema } from '../../src/ipc/gen/eitri/agent/v1/clock_pb.js'
import {
  type Attach,
  type HelloSchema,
  type ReportSchema,
  type Snapshot,
  type SyncRequest,
  SyncResponseSchema,
} from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { helloMessage } from '../../src/ipc/hello-message.ts'
import { AGENT_PROTOCOL, LIMITS } from '../../src/ipc/units.ts'
import { type AgentLink, openAgentLink } from '../../src/main/control/hosts/agent-link.ts'

/** An agent of before a call has none. */
function asked<T>(answering: T | undefined): T {
  if (!answering) throw new ConnectError('not implemented', Code.Unimplemented)
  return answering
}

type KeyPair = { publicKey: KeyObject; privateKey: KeyObject }
type Response = MessageInitShape<typeof SyncResponseSchema>

/** The Sync side of an agent on a unix socket, over real HTTP/2; the test says what it reports. */
export class FakeSyncAgent {
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-sync-'))
  readonly socketPath: string
  readonly key: KeyPair
  readonly attaches: Attach[] = []
  readonly snapshots: Snapshot[] = []
  hostId = 'f'.repeat(32)
  /** Overrides parts of Hello: how an impostor looks. */
  hello: MessageInitShape<typeof HelloSchema> = {}
  /** Ends the session at Attach instead of saying Hello. */
  refuseWith: { code: string; detail?: string; controllerName?: string } | undefined
  /** Stops reading requests after Attach, as an agent that hangs does. */
  deaf = false
  /** Never answers Attach. */
  mute = false
  /** What it answers a person who sets a guest's clock; an agent of before that call has none. */
  setClock: (request: SetGuestClockRequest) => Promise<MessageInitShape<typeof SetGuestClockResponseSchema>> =
    async () => {
      throw new ConnectError('not implemented', Code.Unimplemented)
    }
  /** What it finds on its network, and does about it. */
  network: Pick<ServiceImpl<typeof AgentService>, 'checkNetwork' | 'mendNetwork'> | undefined
  /** Its way to ports of guests. */
  forward: ServiceImpl<typeof AgentService>['forward'] | undefined
  /** What it answers calls about itself; an agent of before these has none. */
  answers: Partial<
    Pick<ServiceImpl<typeof AgentService>, 'getStatus' | 'putAgent' | 'dropKey' | 'getHistory' | 'showCommand'>
  > = {}
  signWith: KeyObject
  readonly #server: http2.Http2Server
  readonly #sessions = new Set<http2.ServerHttp2Session>()
  readonly #out = new Set<(response: Response | undefined) => void>()

  /** With the socket and key of another one: that agent, started again. */
  constructor({ socketPath, key }: { socketPath?: string; key?: KeyPair } = {}) {
    this.socketPath = socketPath ?? join(this.dir, 'agent.sock')
    this.key = key ?? generateKeyPairSync('ed25519')
    this.signWith = this.key.privateKey
    this.#server = http2.createServer(
      connectNodeAdapter({
        readMaxBytes: LIMITS.agentMessageBytes,
        routes: (router) => {
          router.rpc(AgentService.method.sync, (requests, { signal }) => this.#sync(requests, signal))
          router.rpc(AgentService.method.checkNetwork, (...call) => asked(this.network).checkNetwork(...call))
          router.rpc(AgentService.method.mendNetwork, (...call) => asked(this.network).mendNetwork(...call))
          router.rpc(AgentService.method.forward, (...call) => asked(this.forward)(...call))
          router.rpc(AgentService.method.getStatus, (...call) => asked(this.answers.getStatus)(...call))
          router.rpc(AgentService.method.putAgent, (...call) => asked(this.answers.putAgent)(...call))
          router.rpc(AgentService.method.dropKey, (...call) => asked(this.answers.dropKey)(...call))
          router.rpc(AgentService.method.getHistory, (...call) => asked(this.answers.getHistory)(...call))
          router.rpc(AgentService.method.showCommand, (...call) => asked(this.answers.showCommand)(...call))
          router.rpc(AgentService.method.setGuestClock, (request) => this.setClock(request))
        },
      }),
    )
    this.#server.on('session', (session) => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
    })
  }

  static async start(again: { socketPath?: string; key?: KeyPair } = {}): Promise<FakeSyncAgent> {
    const agent = new FakeSyncAgent(again)
    mkdirSync(dirname(agent.socketPath), { recursive: true })
    await new Promise<void>((resolve) => agent.#server.listen(agent.socketPath, resolve))
    return agent
  }

  /** Raw ed25519 key, base64, as a host row pins it. */
  get identityPublicKey(): string {
    return this.#rawKey().toString('base64')
  }

  /** Sessions attached now. */
  get attached(): number {
    return this.#out.size
  }

  /** A connection as a host link would open it. */
  connect(hostKeyFingerprint = ''): AgentLink {
    const duplex = net.connect(this.socketPath)
    return openAgentLink({
      duplex,
      carrier: 'unix',
      host: 'test-host',
      hostKeyFingerprint,
      rxBytes: () => duplex.bytesRead,
      clock: systemClock,
      onClose: () => duplex.destroy(),
    })
  }

  report(value: MessageInitShape<typeof ReportSchema>): void {
    for (const send of this.#out) send({ message: { case: 'report', value } })
  }

  end(code: string): void {
    this.endAs({ code })
  }

  endAs(value: { code: string; controllerName?: string }): void {
    for (const send of this.#out) send({ message: { case: 'end', value } })
  }

  /** Cuts every connection. */
  cut(): void {
    for (const session of this.#sessions) session.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const dir of [this.dir, dirname(this.socketPath)]) rmSync(dir, { recursive: true, force: true })
  }

  async *#sync(requests: AsyncIterable<SyncRequest>, signal: AbortSignal) {
    const iterator = requests[Symbol.asyncIterator]()
    const first = await iterator.next()
    if (first.done || first.value.message.case !== 'attach') throw new Error('first frame must be Attach')
    const attach = first.value.message.value
    this.attaches.push(attach)
    if (this.refuseWith) {
      yield create(SyncResponseSchema, { message: { case: 'end', value: this.refuseWith } })
      return
    }
    if (this.mute) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    const queue: (Response | undefined)[] = []
    let wake = () => {}
    const send = (response: Response | undefined) => {
      queue.push(response)
      wake()
    }
    this.#out.add(send)
    signal.addEventListener('abort', () => send(undefined), { once: true })
    if (!this.deaf) void this.#read(iterator)
    try {
      yield create(SyncResponseSchema, { message: { case: 'hello', value: this.#helloFor(attach) } })
      for (;;) {
        if (queue.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        const next = queue.shift()
        if (!next) return
        yield create(SyncResponseSchema, next)
        if (next.message?.case === 'end') return
      }
    } finally {
      this.#out.delete(send)
    }
  }

  async #read(requests: AsyncIterator<SyncRequest>): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await requests.next()
        if (done) return
        if (value.message.case === 'snapshot') this.snapshots.push(value.message.value)
      }
    } catch {
      // The connection ended.
    }
  }

  #helloFor(attach: Attach): MessageInitShape<typeof HelloSchema> {
    return {
      protocolVersion: AGENT_PROTOCOL,
      hostId: this.hostId,
      agentVersion: '0.1.0',
      identityPublicKey: this.#rawKey(),
      signature: sign(null, helloMessage(attach.nonce, this.hostId, AGENT_PROTOCOL), this.signWith),
      sessionId: randomUUID(),
      provisioner: 'qemu',
      bootId: 'boot-1',
      ...this.hello,
    }
  }

  #rawKey(): Buffer {
    return this.key.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  }
}
