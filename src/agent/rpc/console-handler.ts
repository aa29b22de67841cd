import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Fault } from '../../ipc/faults.ts'
import {
  type ConsoleOpen,
  type ConsoleRequest,
  type ConsoleResponse,
  ConsoleResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/console_pb.js'
import { isId } from '../../ipc/names.ts'
import { LIMITS, TIMES } from '../../ipc/units.ts'
import type { ConsoleEvent, ConsoleStart, ConsoleViewer } from '../serial/console-viewer.ts'
import { nextWithin } from './deadlines.ts'
import type { AgentSessions } from './sessions.ts'

/** The consoles of this host as a viewer's stream uses them. `view` raises vm/not-found and console/unavailable. */
export interface ConsoleSource {
  view(vmId: string, start: ConsoleStart): Promise<ConsoleViewer>
  /** Undefined when delivered, else one sentence why not. */
  input(vmId: string, bytes: Uint8Array): Promise<string | undefined>
}

/** One viewer's stream, from ConsoleOpen until either side or the session ends. */
export async function* runConsole(
  parts: { consoles: ConsoleSource; sessions: AgentSessions },
  requests: AsyncIterable<ConsoleRequest>,
  signal: AbortSignal,
): AsyncGenerator<ConsoleResponse> {
  const incoming = requests[Symbol.asyncIterator]()
  const open = await firstOpen(incoming, signal)
  const session = parts.sessions.require(open.sessionId)
  const viewer = await parts.consoles.view(open.vmId, startOf(open))
  const closed = new AbortController()
  const over = AbortSignal.any([signal, session.signal, closed.signal])
  void takeRequests(incoming, viewer, over, (bytes) => parts.consoles.input(open.vmId, bytes)).then(
    () => closed.abort(HALF_CLOSED),
    (error: unknown) => closed.abort(error),
  )
  try {
    for await (const event of viewer.events(over)) yield responseOf(event)
  } catch (error) {
    if (error !== HALF_CLOSED) throw error
  } finally {
    closed.abort(HALF_CLOSED)
  }
}

const HALF_CLOSED = new Fault('app/cancelled', 'cancelled')

async function firstOpen(incoming: AsyncIterator<ConsoleRequest>, signal: AbortSignal): Promise<ConsoleOpen> {
  const late = () => malformed('no ConsoleOpen in time')
  const first = await nextWithin(incoming, TIMES.consoleOpenMs, late, signal)
  if (first.done === true || first.value.message.case !== 'open') throw malformed('the first frame must be ConsoleOpen')
  const open = first.value.message.value
  if (!isId(open.vmId)) throw malformed('ConsoleOpen without a valid VM id')
  return open
}

const startOf = (open: ConsoleOpen): ConsoleStart =>
  open.fromOffset === undefined
    ? { tailBytes: Math.min(Number(open.tailBytes), LIMITS.consoleLogBytes * 2) }
    : { from: Math.min(Number(open.fromOffset), Number.MAX_SAFE_INTEGER) }

async function takeRequests(
  incoming: AsyncIterator<ConsoleRequest>,
  viewer: ConsoleViewer,
  over: AbortSignal,
  type: (bytes: Uint8Array) => Promise<string | undefined>,
): Promise<void> {
  for (;;) {
    const next = await incoming.next()
    if (next.done === true || over.aborted) return
    const { message } = next.value
    if (message.case === 'ack') viewer.ack(Number(message.value.offset))
    else if (message.case === 'input') {
      const { data } = message.value
      if (data.length > LIMITS.consoleInputBytes)
        throw new Fault('input/too-large', 'permanent', { message: `console input of ${data.length} bytes` })
      const refusal = data.length === 0 ? undefined : await type(data)
      if (refusal !== undefined) viewer.refuse(refusal)
    } else if (message.case !== undefined) throw malformed(`${message.case} after ConsoleOpen`)
  }
}

type Message = NonNullable<MessageInitShape<typeof ConsoleResponseSchema>['message']>
const response = (message: Message) => create(ConsoleResponseSchema, { message })

function responseOf(event: ConsoleEvent): ConsoleResponse {
  switch (event.type) {
    case 'opened': {
      const { start, end, head, running } = event
      const value = { startOffset: BigInt(start), endOffset: BigInt(end), headOffset: BigInt(head), running }
      return response({ case: 'opened', value })
    }
    case 'data':
      return response({ case: 'data', value: { offset: BigInt(event.offset), data: event.bytes } })
    case 'skipped':
      return response({ case: 'skipped', value: { fromOffset: BigInt(event.from), toOffset: BigInt(event.to) } })
    case 'power':
      return response({ case: 'power', value: { running: event.running } })
    case 'refused':
      return response({ case: 'refused', value: { detail: event.detail } })
  }
}

const malformed = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'Console frame', problem })
