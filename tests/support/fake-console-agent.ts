import { mkdtemp, rm } from 'node:fs/promises'
import http2 from 'node:http2'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import type { ConsoleRequest, ConsoleResponse } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import { ConsoleResponseSchema } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import { LIMITS } from '../../src/ipc/units.ts'
import type { ActiveSession } from '../../src/main/control/hosts/agent-connection.ts'

type Response = MessageInitShape<typeof ConsoleResponseSchema>

interface Stream {
  vmId: string
  push(response: Response): void
  fail(error: ConnectError): void
}

/** Consoles of an agent on a unix socket, over real HTTP/2: a log per agent, every stream served from an offset of it. */
export class FakeConsoleAgent {
  log = new Uint8Array()
  head = 0n
  running = true
  refuseWith: ConnectError | undefined
  readonly input: string[] = []
  readonly acks: bigint[] = []
  readonly opens: { fromOffset: bigint | undefined; tailBytes: bigint; sessionId: string }[] = []
  readonly streams = new Set<Stream>()
  /** Largest distance between what was written to a stream and its last ack. */
  sent = 0n
  readonly #dir: string
  readonly #server: http2.Http2Server
  readonly #sessions = new Set<http2.ServerHttp2Session>()
  #manager: Http2SessionManager | undefined
  #changed: () => void = () => {}
  /** Whether the agent keeps to the window of acks; a broken one does not. */
  keepsWindow = true

  private constructor(dir: string) {
    this.#dir = dir
    this.#server = http2.createServer(
      connectNodeAdapter({
        routes: (router) =>
          router.service(AgentService, {
            console: (requests: AsyncIterable<ConsoleRequest>) => this.#console(requests),
          } as never),
      }),
    )
    this.#server.on('session', (session) => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
    })
  }

  static async start(): Promise<FakeConsoleAgent> {
    const agent = new FakeConsoleAgent(await mkdtemp(join(tmpdir(), 'eitri-agent-')))
    await new Promise<void>((resolve) => agent.#server.listen(join(agent.#dir, 'a.sock'), resolve))
    return agent
  }

  /** A new session, as the registry would hold it. */
  session(hostId: string, sessionId: string): ActiveSession {
    const path = join(this.#dir, 'a.sock')
    const manager = new Http2SessionManager('http://agent', {}, {
      createConnection: () => net.connect(path),
    } as http2.ClientSessionOptions)
    this.#manager = manager
    const transport = createConnectTransport({
      httpVersion: '2',
      baseUrl: 'http://agent',
      sessionManager: manager,
      acceptCompression: [],
    })
    return {
      hostId,
      sessionId,
      hello: {} as never,
      connection: {
        client: createClient(AgentService, transport),
        carrier: 'unix',
        hostKeyFingerprint: '',
        bulk: () => Promise.reject(new Error('no bulk here')),
        drained: async () => {},
        closed: new Promise(() => {}),
        close: () => manager.abort(),
      },
    }
  }

  append(text: string | Uint8Array): void {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
    const next = new Uint8Array(this.log.length + bytes.length)
    next.set(this.log)
    next.set(bytes, this.log.length)
    this.log = next
    this.#tick()
  }

  power(running: boolean): void {
    this.running = running
    for (const s of this.streams) s.push({ message: { case: 'power', value: { running } } })
  }

  refuseInput(detail: string): void {
    for (const s of this.streams) s.push({ message: { case: 'refused', value: { detail } } })
  }

  /** The link is lost: every HTTP/2 session breaks. */
  cut(): void {
    for (const session of this.#sessions) session.destroy()
  }

  /** Resolves once `test` holds; looked at whenever something arrives. */
  async until(test: () => boolean): Promise<void> {
    while (!test())
      await new Promise<void>((resolve) => {
        const before = this.#changed
        this.#changed = () => {
          before()
          resolve()
        }
      })
  }

  async stop(): Promise<void> {
    this.#manager?.abort()
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
    await rm(this.#dir, { recursive: true, force: true })
  }

  #tick(): void {
    const changed = this.#changed
    this.#changed = () => {}
    changed()
  }

  async *#console(requests: AsyncIterable<ConsoleRequest>): AsyncGenerator<ConsoleResponse> {
    const iterator = requests[Symbol.asyncIterator]()
    const first = (await iterator.next()).value?.message
    if (first?.case !== 'open') throw new ConnectError('open first', Code.InvalidArgument)
    const open = first.value
    this.opens.push(open)
    this.#tick()
    if (this.refuseWith) throw this.refuseWith
    const queue: Response[] = []
    let failure: ConnectError | undefined
    let ended = false
    const stream: Stream = {
      vmId: open.vmId,
      push: (response) => {
        queue.push(response)
        this.#tick()
      },
      fail: (error) => {
        failure = error
        this.#tick()
      },
    }
    this.streams.add(stream)
    const end = () => BigInt(this.log.length)
    const asked = open.fromOffset ?? (end() > open.tailBytes ? end() - open.tailBytes : 0n)
    let next = asked > end() ? end() : asked < this.head ? this.head : asked
    let acked = next
    const made = (response: Response) => create(ConsoleResponseSchema, response)
    yield made({
      message: {
        case: 'opened',
        value: { startOffset: next, endOffset: end(), headOffset: this.head, running: this.running },
      },
    })
    if (asked < this.head)
      yield made({ message: { case: 'skipped', value: { fromOffset: asked, toOffset: this.head } } })
    void (async () => {
      for (let r = await iterator.next(); !r.done; r = await iterator.next()) {
        const { message } = r.value
        if (message.case === 'input') this.input.push(new TextDecoder().decode(message.value.data))
        if (message.case === 'ack') {
          acked = message.value.offset > acked ? message.value.offset : acked
          this.acks.push(message.value.offset)
        }
        this.#tick()
      }
    })()
      .catch(() => {})
      .finally(() => {
        ended = true
        this.#tick()
      })
    try {
      while (true) {
        const from = next
        await this.until(
          () => ended || failure !== undefined || queue.length > 0 || (end() > from && this.#maySend(from, acked)),
        )
        if (failure) throw failure
        const queued = queue.shift()
        if (queued) yield made(queued)
        else if (ended) return
        else {
          const data = this.log.slice(Number(next), Math.min(this.log.length, Number(next) + LIMITS.consoleChunkBytes))
          next += BigInt(data.length)
          this.sent = next
          yield made({ message: { case: 'data', value: { offset: from, data } } })
        }
      }
    } finally {
      this.streams.delete(stream)
      this.#tick()
    }
  }

  #maySend(next: bigint, acked: bigint): boolean {
    return !this.keepsWindow || next - acked < BigInt(LIMITS.consoleWindowBytes)
  }
}
