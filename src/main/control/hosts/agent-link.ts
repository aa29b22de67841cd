import type { Duplex } from 'node:stream'
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault, findFault } from '../../../ipc/faults.ts'
import { AgentService } from '../../../ipc/gen/eitri/agent/v1/agent_pb.js'
import { FaultSchema } from '../../../ipc/gen/eitri/fleet/v1/fault_pb.js'
import { LIMITS } from '../../../ipc/units.ts'
import type { AgentConnection } from './agent-connection.ts'
import { ChannelSessionManager, lossError } from './channel-session-manager.ts'
import { type Liveness, watchLiveness } from './liveness.ts'
import { makePlausible } from './plausible.ts'

export interface AgentLinkOptions {
  duplex: Duplex
  carrier: AgentConnection['carrier']
  sshClient?: 'ssh2' | 'openssh'
  exec?: AgentConnection['exec']
  /** Name of the host, for faults. */
  host: string
  hostKeyFingerprint: string
  rxBytes(): number
  clock: Clock
  /** Another stream to the same agent over the same connection. Absent or refused = there is none. */
  another?: (signal: AbortSignal) => Promise<Duplex>
  /** Runs once when the link ended, whatever the reason: closes what is underneath. */
  onClose(fault: Fault): void
}

/** A connection that can be told the computer just woke. */
export interface AgentLink extends AgentConnection {
  readonly liveness: Liveness
}

/** The way to one host. Raises ssh/*, host/* and agent/* faults. */
export interface LinkConnector {
  connect(signal: AbortSignal): Promise<AgentLink>
}

/** Messages one link may send; far above what any agent needs, far below what freezes this process. */
export const MESSAGES_PER_SECOND = 5_000
export const MESSAGE_BURST = 10_000
const PACE_MS = 20

/** HTTP/2 and the agent's client over an open duplex. Never throws: a duplex that is dead already ends `closed` at once. */
export function openAgentLink(options: AgentLinkOptions): AgentLink {
  const { duplex, carrier, sshClient, host, hostKeyFingerprint, rxBytes, clock } = options
  const manager = new ChannelSessionManager(
    duplex,
    (detail) => new Fault('ssh/lost', 'transient', { host, ...(detail ? { detail } : {}) }),
  )
  let roundTripMs: number | undefined
  const probe = () => {
    if (manager.session.destroyed) return
    manager.session.ping((error, durationMs) => {
      if (!error) roundTripMs = durationMs
    })
  }
  const liveness = watchLiveness({
    rxBytes,
    clock,
    probe,
    onDead: () => manager.end(new Fault('host/no-answer', 'transient', { host })),
  })
  void manager.closed.then((fault) => {
    liveness.stop()
    options.onClose(fault)
  })
  manager.session.once('connect', probe)
  const transport = createConnectTransport({
    httpVersion: '2',
    baseUrl: manager.authority,
    sessionManager: manager,
    useBinaryFormat: true,
    readMaxBytes: LIMITS.agentMessageBytes,
    writeMaxBytes: LIMITS.agentMessageBytes,
    acceptCompression: [],
    interceptors: [guard(manager, host, clock)],
  })
  const link: AgentLink = {
    client: createClient(AgentService, transport),
    carrier,
    ...(sshClient ? { sshClient } : {}),
    ...(options.exec ? { exec: options.exec } : {}),
    hostKeyFingerprint,
    get roundTripMs() {
      return roundTripMs
    },
    drained: () =>
      new Promise((resolve) => {
        void manager.closed.then(() => resolve())
        if (!manager.session.destroyed) manager.session.ping(() => resolve())
      }),
    closed: manager.closed,
    close: (reason) => manager.end(reason),
    liveness,
    async bulk(signal) {
      const beside = await options.another?.(signal).catch(() => undefined)
      if (beside) return openAgentLink({ ...options, duplex: beside, onClose: () => {} })
      signal.throwIfAborted()
      if (manager.dead) throw manager.dead
      return { ...link, close: () => {} }
    },
  }
  return link
}

/** Says what ended a call: the link's own fault for a loss, `agent/misbehaved` for a peer that breaks the bounds. */
function guard(manager: ChannelSessionManager, host: string, clock: Clock): Interceptor {
  const misbehaved = (detail: string, cause?: unknown) => {
    const fault = new Fault('agent/misbehaved', 'transient', { host, detail }, { cause })
    manager.end(fault)
    return lossError(fault)
  }
  const spend = bucket(clock)
  const spendForwarded = bucket(clock)
  return (next) => async (request) => {
    const translate = (error: unknown): ConnectError => {
      if (request.signal.aborted) return ConnectError.from(error)
      const fault = manager.dead
      if (fault) return lossError(fault)
      const e = ConnectError.from(error)
      if (isOverrun(e)) return misbehaved('it sent a message larger than allowed', e)
      return e.code === Code.Canceled && !findFault(e) ? new ConnectError('stream lost', Code.Unavailable) : e
    }
    try {
      const response = await next(request)
      const { output } = response.method
      if (!response.stream) {
        makePlausible(output, response.message)
        return response
      }
      const messages = response.message
      return {
        ...response,
        message: (async function* () {
          // A guest decides how small the pieces are in which it answers: it slows its own connection, and ends nothing.
          const paced = response.method.name === 'Forward'
          try {
            for await (const message of messages) {
              while (paced && !spendForwarded()) await clock.sleep(PACE_MS, request.signal)
              if (!paced && !spend()) throw misbehaved('it floods messages')
              makePlausible(output, message)
              yield message
            }
          } catch (error) {
            throw translate(error)
          }
        })(),
      }
    } catch (error) {
      throw translate(error)
    }
  }
}

/** Our own reader's refusal: an agent's refusal of a request carries its fault. */
function isOverrun(error: ConnectError): boolean {
  return error.code === Code.ResourceExhausted && error.findDetails(FaultSchema).length === 0
}

function bucket(clock: Clock): () => boolean {
  let tokens = MESSAGE_BURST
  let at = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    tokens = Math.min(MESSAGE_BURST, tokens + ((now - at) * MESSAGES_PER_SECOND) / 1000)
    at = now
    if (tokens < 1) return false
    tokens--
    return true
  }
}
