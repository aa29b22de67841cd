import type { Client } from '@connectrpc/connect'
import type { Fault } from '../../../ipc/faults.ts'
import type { AgentService } from '../../../ipc/gen/eitri/agent/v1/agent_pb.js'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'

/** One HTTP/2 session to one agent. Whoever opened it closes it. */
export interface AgentConnection {
  readonly client: Client<typeof AgentService>
  readonly carrier: 'unix' | 'streamlocal' | 'stdio'
  /** SHA256:… of the SSH host key; empty without SSH. */
  readonly hostKeyFingerprint: string
  /** Of the last ping that was answered, ms. Absent = none was yet. */
  readonly roundTripMs?: number | undefined
  /** Resolves once with why it ended; never rejects. */
  readonly closed: Promise<Fault>
  close(reason: Fault): void
}

/** The ways to one host. Raises ssh/*, host/* and agent/* faults. */
export interface HostConnector {
  connect(signal: AbortSignal): Promise<AgentConnection>
  /** A second connection for bulk, so that it never delays the first; the caller closes it after. */
  connectBulk(signal: AbortSignal): Promise<AgentConnection>
}

/** A session that is attached: what Console and PutImage need. */
export interface ActiveSession {
  readonly hostId: string
  readonly sessionId: string
  readonly connection: AgentConnection
  readonly hello: Hello
}
