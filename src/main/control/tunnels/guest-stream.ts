import { Code, ConnectError } from '@connectrpc/connect'
import { faultText } from '../../../ipc/fault-text.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { ForwardResponse } from '../../../ipc/gen/eitri/agent/v1/network_pb.js'
import { LIMITS } from '../../../ipc/units.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { TunnelOutbox } from './tunnel-outbox.ts'
import type { TunnelVm } from './tunnel-places.ts'

/** The agent gives the guest 10 s to take the connection; the rest is its host's way. */
const OPEN_MS = 20_000

export interface GuestStreamInput {
  session: ActiveSession
  vm: TunnelVm
  port: number
  /** Ends the stream, whatever it does. */
  signal: AbortSignal
  /** The guest takes more. */
  drained(): void
}

/** A connection that a guest took. */
export interface GuestStream {
  readonly outbox: TunnelOutbox
  /** Bytes of the guest; ends with its side. Raises why the connection broke. */
  bytes(): AsyncGenerator<Uint8Array>
  /** Resolves once the agent is through with both sides; raises why it broke. Only after `bytes` ended. */
  over(): Promise<void>
}

/** Resolves once the guest took the connection. Raises port/no-way, port/not-taken, host/no-answer, agent/version-skew, app/timeout. */
export async function openGuestStream(input: GuestStreamInput): Promise<GuestStream> {
  const { session, vm, port, signal, drained } = input
  const named = (error: unknown) => faultOf(error, vm, port)
  const late = new AbortController()
  const timeout = new Fault('app/timeout', 'transient', { timeout: `${OPEN_MS / 1000} s` })
  const timer = setTimeout(() => late.abort(timeout), OPEN_MS)
  const outbox = new TunnelOutbox({ sessionId: session.sessionId, vmId: vm.id, guestPort: port }, drained)
  const { client } = session.connection
  const both = AbortSignal.any([signal, late.signal])
  const responses = client.forward(outbox, { signal: both })[Symbol.asyncIterator]()
  const next = async (): Promise<ForwardResponse['message'] | undefined> => {
    const { done, value } = await responses.next()
    return done === true ? undefined : value.message
  }
  try {
    const first = await next()
    if (first?.case !== 'opened') throw misbehaved(vm, 'it took a connection without a word')
  } catch (error) {
    outbox.close()
    throw both.aborted ? both.reason : named(error)
  } finally {
    clearTimeout(timer)
  }
  return {
    outbox,
    async *bytes() {
      try {
        for (let message = await next(); message?.case !== 'end'; message = await next()) {
          if (message === undefined) throw misbehaved(vm, 'it broke off a connection to a guest without a word')
          if (message.case !== 'data') continue
          if (message.value.length > LIMITS.forwardChunkBytes)
            throw misbehaved(vm, 'it sent more bytes at once than allowed')
          yield message.value
        }
      } catch (error) {
        throw broken(named(error), vm, port)
      }
    },
    async over() {
      try {
        while ((await next()) !== undefined);
      } catch (error) {
        throw broken(named(error), vm, port)
      } finally {
        outbox.close()
      }
    },
  }
}

const misbehaved = ({ hostName: host }: TunnelVm, detail: string) =>
  new Fault('agent/misbehaved', 'transient', { host, detail })

/** With the names people know, in place of what the agent calls them. */
function faultOf(error: unknown, vm: TunnelVm, port: number): Fault {
  const names = { vm: vm.name, host: vm.hostName }
  if (error instanceof ConnectError && error.code === Code.Unimplemented)
    return new Fault('agent/version-skew', 'permanent', names)
  const { code, disposition, params } = fromConnectError(error, 'host/no-answer')
  return new Fault(code, disposition, { ...params, ...names, port: String(port) }, { cause: error })
}

/** "Nothing was sent" is no longer true. */
const broken = (cause: Fault, vm: TunnelVm, port: number) =>
  new Fault(
    'port/broken',
    'transient',
    { vm: vm.name, port: String(port), detail: faultText(cause.code, cause.params).what.replace(/\.$/, '') },
    { cause },
  )
