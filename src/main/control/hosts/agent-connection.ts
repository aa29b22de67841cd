import type { Client } from '@connectrpc/connect'
import type { Fault } from '../../../ipc/faults.ts'
import type { AgentService } from '../../../ipc/gen/eitri/agent/v1/agent_pb.js'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { SshConnection } from './ssh/connection.ts'

/** One HTTP/2 session to one agent. Whoever opened it closes it. */
export interface AgentConnection {
  readonly client: Client<typeof AgentService>
  readonly carrier: 'unix' | 'streamlocal' | 'stdio'
  /** Who carries it over SSH. Absent = it is of this computer. */
  readonly sshClient?: 'ssh2' | 'openssh'
  /** SHA256:… of the SSH host key; empty without SSH. */
  readonly hostKeyFingerprint: string
  /** Of the last ping that was answered, ms. Absent = none was yet. */
  readonly roundTripMs?: number | undefined
  /**
   * The same agent again for bulk, so that it holds up nothing of this: a channel of its own beside this one, or this one
   * itself where the host gives no second. Never another sign-in. The caller closes it after.
   */
  bulk(signal: AbortSignal): Promise<AgentConnection>
  /** A command on the host, over this same sign-in. Absent = the link is of this computer, or its login runs one command alone. */
  readonly exec?: SshConnection['exec']
  /** Resolves when what was sent so far has arrived, or when the connection ended; never rejects. */
  drained(): Promise<void>
  /** Resolves once with why it ended; never rejects. */
  readonly closed: Promise<Fault>
  close(reason: Fault): void
}

/** A session that is attached: what Console and PutImage need. */
export interface ActiveSession {
  readonly hostId: string
  readonly sessionId: string
  readonly connection: AgentConnection
  readonly hello: Hello
}
