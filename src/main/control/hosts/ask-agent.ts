import { Code, ConnectError } from '@connectrpc/connect'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { ActiveSession } from './agent-connection.ts'

/** Asks a host's agent now; bounds are the call's own. Raises host/no-answer, agent/version-skew where the agent is too old to know the call, app/timeout, and what the agent answers, each with the host's name. */
export async function askAgent<T>(
  sessions: { active(hostId: string): ActiveSession | undefined },
  { id, name: host }: { id: string; name: string },
  call: (session: ActiveSession) => Promise<T>,
): Promise<T> {
  const session = sessions.active(id)
  if (!session) throw new Fault('host/no-answer', 'transient', { host })
  try {
    return await call(session)
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.Unimplemented)
      throw new Fault('agent/version-skew', 'permanent', { host })
    const { code, disposition, params } = fromConnectError(error, 'host/no-answer')
    throw new Fault(code, disposition, { ...params, host })
  }
}
