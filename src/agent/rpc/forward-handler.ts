import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Fault } from '../../ipc/faults.ts'
import {
  type ForwardOpen,
  type ForwardRequest,
  type ForwardResponse,
  ForwardResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import { isId } from '../../ipc/names.ts'
import { LIMITS, TIMES } from '../../ipc/units.ts'
import type { Places, PortLimits } from '../exposures/limits.ts'
import type { Target } from '../exposures/reach.ts'
import { taken } from '../exposures/tcp-proxy.ts'
import { nextWithin } from './deadlines.ts'
import type { AgentSessions } from './sessions.ts'

/** At once, of one agent; beside the connections of published ports, which whoever reaches the host can use up. */
export const MAX_FORWARDS = 64

/** The way to the guests of this host. `target` raises port/no-way, and never gives a target without an address. */
export interface GuestReach {
  target(vmId: string, protocol: 'tcp', guestPort: number): Promise<Target>
  limits: PortLimits
}

export interface ForwardParts {
  reach: GuestReach
  sessions: AgentSessions
  /** Of forwards alone. */
  open: Places
}

/** One connection to a guest's port, from ForwardOpen until both sides ended, or the session did. */
export async function* runForward(
  { reach, sessions, open: places }: ForwardParts,
  requests: AsyncIterable<ForwardRequest>,
  signal: AbortSignal,
): AsyncGenerator<ForwardResponse> {
  const incoming = requests[Symbol.asyncIterator]()
  const open = await firstOpen(incoming, signal)
  const session = sessions.require(open.sessionId)
  if (!places.take()) throw tooMany(`${MAX_FORWARDS} connections to guests are open already`)
  try {
    const guest = await dial(reach, open)
    yield* carry(guest, incoming, AbortSignal.any([signal, session.signal]), reach.limits.tcpIdleMs)
  } finally {
    places.giveBack()
  }
}

async function firstOpen(incoming: AsyncIterator<ForwardRequest>, signal: AbortSignal): Promise<ForwardOpen> {
  const late = () => malformed('no ForwardOpen in time')
  const first = await nextWithin(incoming, TIMES.consoleOpenMs, late, signal)
  if (first.done === true || first.value.message.case !== 'open') throw malformed('the first frame must be ForwardOpen')
  const open = first.value.message.value
  if (!isId(open.vmId)) throw malformed('ForwardOpen without a valid VM id')
  if (open.guestPort < 1 || open.guestPort > 65_535) throw malformed('ForwardOpen without a port')
  return open
}

async function dial(reach: GuestReach, { vmId, guestPort }: ForwardOpen): Promise<Socket> {
  const target = await reach.target(vmId, 'tcp', guestPort)
  const guest = connect({ ...target, allowHalfOpen: true, noDelay: true })
  guest.on('error', () => {})
  try {
    await taken(guest, reach.limits.connectMs)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('port/not-taken', 'transient', { vm: vmId, port: String(guestPort), detail }, { cause: error })
  }
  return guest
}

/** The peer's stream window holds the guest back; the guest's socket holds the peer back. */
async function* carry(
  guest: Socket,
  incoming: AsyncIterator<ForwardRequest>,
  over: AbortSignal,
  idleMs: number,
): AsyncGenerator<ForwardResponse> {
  const broken = new AbortController()
  const ends = AbortSignal.any([over, broken.signal])
  const stop = () => guest.destroy(ends.reason)
  ends.addEventListener('abort', stop, { once: true })
  if (ends.aborted) stop()
  guest.setTimeout(idleMs, () => broken.abort(new Fault('app/timeout', 'transient', { timeout: `${idleMs} ms` })))
  const sent = takeRequests(guest, incoming).catch((error: unknown) => broken.abort(error))
  try {
    yield response({ case: 'opened', value: {} })
    for await (const part of guest.iterator({ destroyOnReturn: false }))
      for (const data of pieces(part as Buffer)) yield response({ case: 'data', value: data })
    yield response({ case: 'end', value: {} })
    await Promise.race([sent, once(guest, 'close')])
    ends.throwIfAborted()
  } catch (error) {
    throw ends.aborted ? ends.reason : lost(error)
  } finally {
    ends.removeEventListener('abort', stop)
    guest.destroy()
  }
}

/** Resolves once the peer has ended its side and all it said is with the system. */
async function takeRequests(guest: Socket, incoming: AsyncIterator<ForwardRequest>): Promise<void> {
  for (;;) {
    const next = await incoming.next()
    if (guest.destroyed) return
    if (next.done === true || next.value.message.case === 'end') {
      if (!guest.writableEnded) await new Promise<void>((resolve) => guest.end(resolve))
      return
    }
    const { message } = next.value
    if (message.case === undefined) continue
    if (message.case !== 'data') throw malformed('ForwardOpen after ForwardOpen')
    if (message.value.length > LIMITS.forwardChunkBytes)
      throw new Fault('input/too-large', 'permanent', { message: `forward message of ${message.value.length} bytes` })
    if (message.value.length > 0 && !guest.write(message.value)) await drained(guest)
  }
}

function drained(guest: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      guest.removeListener('drain', done)
      guest.removeListener('close', done)
      resolve()
    }
    guest.once('drain', done)
    guest.once('close', done)
    if (guest.destroyed) done()
  })
}

function* pieces(part: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < part.length; at += LIMITS.forwardChunkBytes)
    yield part.subarray(at, at + LIMITS.forwardChunkBytes)
}

type Message = NonNullable<MessageInitShape<typeof ForwardResponseSchema>['message']>
const response = (message: Message) => create(ForwardResponseSchema, { message })

const malformed = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'Forward frame', problem })
const tooMany = (detail: string) => new Fault('port/no-way', 'transient', { detail })
const lost = (error: unknown) =>
  new Fault(
    'port/no-way',
    'transient',
    { detail: error instanceof Error ? error.message : String(error) },
    { cause: error },
  )
