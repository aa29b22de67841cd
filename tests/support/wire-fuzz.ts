import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { clone, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import { type SyncRequest, SyncRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { attached, attachFrame, snapshotFrame, type WireClient, wireClient } from './agent-wire.ts'
import { anyBytes, anyMessage, hostileBytes } from './hostile-values.ts'
import {
  closedOf,
  enveloped,
  METHODS,
  type Method,
  PREFACE,
  rawCall,
  rawSession,
  rawSocket,
  SETTINGS,
} from './raw-wire.ts'

/** What a process holds now. */
export const held = (pid: number) => ({
  fds: readdirSync(`/proc/${pid}/fd`)
    .map((fd) => targetOf(`/proc/${pid}/fd/${fd}`))
    .sort(),
  rssMb: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024,
})

function targetOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** A control plane in good order, beside which others misbehave. */
export class Witness implements Disposable {
  readonly #link: WireClient
  readonly #attached: Awaited<ReturnType<typeof attached>>
  #epoch: bigint

  private constructor(link: WireClient, session: Awaited<ReturnType<typeof attached>>) {
    this.#link = link
    this.#attached = session
    this.#epoch = session.hello.lastSeenEpoch
  }
  static async attach(socketPath: string): Promise<Witness> {
    const link = wireClient(socketPath)
    return new Witness(link, await attached(link.client))
  }
  get sessionId(): string {
    return this.#attached.sessionId
  }
  /** It is still attached: what it sends is followed and reported. */
  async seesItself(): Promise<void> {
    this.#epoch++
    const epoch = this.#epoch
    this.#attached.sync.requests.push(snapshotFrame(epoch))
    await this.#attached.sync.until('report', (report) => report.lastSeenEpoch === epoch)
  }
  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]()
  }
}

const inputs = new Map(AgentService.methods.map((method) => [method.name, method.input as DescMessage]))
const streamed = (method: Method) => method !== 'StatImage' && method !== 'GetStatus'

/** Puts the real session id where a frame has one: otherwise all of them end at the door. */
function insiders(method: Method, sessionId: string): fc.Arbitrary<Uint8Array> {
  const desc = inputs.get(method)!
  return hostileBytes(anyMessage(desc).map((message) => toBinary(desc, withSession(message, sessionId))))
}

function withSession(message: Message, sessionId: string): Message {
  const given = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
    if ('sessionId' in value) value.sessionId = sessionId
    for (const inner of Object.values(value)) given(inner)
  }
  given(message)
  return message
}

type Envelope = { message: Uint8Array; flags: number; lie: number }
const envelopes = (message: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Envelope[]> =>
  fc.array(
    fc.record({
      message,
      flags: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(255)),
      lie: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: -3, max: 2 ** 31 })),
    }),
    { minLength: 1, maxLength: 4 },
  )

type Attack =
  | { kind: 'bytes'; preface: boolean; bytes: Uint8Array }
  | { kind: 'frames'; frames: { type: number; flags: number; stream: number; payload: Uint8Array }[] }
  | { kind: 'call'; method: Method; type: string | undefined; envelopes: Envelope[]; end: boolean }

const bytesAttack = fc.record({
  kind: fc.constant('bytes' as const),
  preface: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 400 }),
})
const framesAttack = fc.record({
  kind: fc.constant('frames' as const),
  frames: fc.array(
    fc.record({
      type: fc.nat(12),
      flags: fc.nat(255),
      stream: fc.constantFrom(0, 1, 2, 3, 2 ** 31 - 1),
      payload: fc.uint8Array({ maxLength: 60 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})
const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  fc.constantFrom('application/json', 'application/connect+json', 'application/grpc', 'text/html', 'x'),
)

/** Anything a process that may connect could send, with the session id of the one that is attached. */
export const outsiderAttack = (sessionId: string): fc.Arbitrary<Attack> =>
  fc.oneof(bytesAttack, framesAttack, {
    weight: 6,
    arbitrary: fc.constantFrom(...METHODS).chain((method) =>
      fc.record({
        kind: fc.constant('call' as const),
        method: fc.constant(method),
        type: contentType,
        envelopes: envelopes(method === 'Sync' ? anyBytes(SyncRequestSchema) : insiders(method, sessionId)),
        end: fc.boolean(),
      }),
    ),
  })

/** Some of them side by side, fewer than the agent takes connections. */
export const atOnce = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(one, { minLength: 8, maxLength: 40 })

/** What an attached control plane could send after its Attach. */
export const insiderFrames: fc.Arbitrary<Envelope[]> = envelopes(anyBytes(SyncRequestSchema))

const frameOf = ({
  type,
  flags,
  stream,
  payload,
}: {
  type: number
  flags: number
  stream: number
  payload: Uint8Array
}) => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const onTheWire = ({ message, flags, lie }: Envelope) =>
  enveloped(message, { flags, length: Math.max(0, Math.min(2 ** 32 - 1, message.length + lie)) })

/** Longest an attack waits for its answer, ms: one that is not answered is hung up on. */
const ANSWER_MS = 30

/** Does it on a connection of its own and hangs up. */
export async function attack(socketPath: string, how: Attack): Promise<void> {
  if (how.kind === 'call') {
    const session = rawSession(socketPath)
    const stream = rawCall(session, how.method, how.type === undefined ? {} : { 'content-type': how.type })
    stream.resume()
    for (const envelope of how.envelopes) stream.write(streamed(how.method) ? onTheWire(envelope) : envelope.message)
    if (how.end) stream.end()
    await Promise.race([closedOf(stream), waited()])
    session.destroy()
    return
  }
  const socket = await rawSocket(socketPath)
  if (how.kind === 'frames') socket.write(Buffer.concat([PREFACE, SETTINGS, ...how.frames.map(frameOf)]))
  else socket.write(how.preface ? Buffer.concat([PREFACE, how.bytes]) : how.bytes)
  await Promise.race([closedOf(socket), waited()])
  socket.destroy()
}

/** Attaches in good order and then sends these. */
export async function attackFromInside(socketPath: string, frames: Envelope[]): Promise<void> {
  const session = rawSession(socketPath)
  const stream = rawCall(session, 'Sync')
  stream.resume()
  const attach = clone(SyncRequestSchema, attachFrame({ nonce: randomBytes(32) })) as SyncRequest
  stream.write(enveloped(toBinary(SyncRequestSchema, attach)))
  for (const envelope of frames) stream.write(onTheWire(envelope))
  await Promise.race([closedOf(stream), waited()])
  session.destroy()
}

const waited = () => new Promise<void>((resolve) => setTimeout(resolve, ANSWER_MS))
