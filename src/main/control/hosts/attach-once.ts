import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault, findFault } from '../../../ipc/faults.ts'
import { AttachSchema, type Hello, type Report, SyncRequestSchema } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { AGENT_PROTOCOL } from '../../../ipc/units.ts'
import { faultOfEnd, judgeHello } from '../sync/hello-judge.ts'
import type { AgentConnection } from './agent-connection.ts'

export interface AttachAs {
  fleetId: string
  controllerName: string
  version: string
}

const FIRST_REPORT_TIMEOUT_MS = 30_000

/**
 * Attaches for one Hello and one Report, and leaves again; the connection stays open. The identity key of Hello is proven.
 * Raises agent/foreign-controller, agent/version-skew, agent/auth-rejected, agent/misbehaved and host/no-answer.
 */
export async function attachOnce(
  connection: AgentConnection,
  host: string,
  as: AttachAs,
  { takeOver, signal }: { takeOver: boolean; signal: AbortSignal },
): Promise<{ hello: Hello; report: Report }> {
  const nonce = randomBytes(32)
  const leave = new AbortController()
  const until = AbortSignal.any([signal, leave.signal, AbortSignal.timeout(FIRST_REPORT_TIMEOUT_MS)])
  const requests = async function* () {
    const { fleetId, controllerName, version: appVersion } = as
    const value = create(AttachSchema, {
      protocolVersion: AGENT_PROTOCOL,
      fleetId,
      nonce,
      controllerName,
      appVersion,
      takeOver,
    })
    yield create(SyncRequestSchema, { message: { case: 'attach', value } })
    await new Promise<void>((resolve) => until.addEventListener('abort', () => resolve(), { once: true }))
  }
  let hello: Hello | undefined
  try {
    for await (const { message } of connection.client.sync(requests(), { signal: until })) {
      if (message.case === 'end') throw faultOfEnd(host, message.value)
      if (message.case === 'hello') {
        const identityPublicKey = Buffer.from(message.value.identityPublicKey).toString('base64')
        const fault = judgeHello(message.value, nonce, { name: host, identityPublicKey, hostKeyFingerprint: '' }, '')
        if (fault) throw fault
        hello = message.value
      }
      if (message.case === 'report' && hello) return { hello, report: message.value }
    }
    throw new Fault('host/no-answer', 'transient', { host, detail: 'the agent closed the session' })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (until.aborted)
      throw new Fault('host/no-answer', 'transient', { host, detail: 'no first report' }, { cause: error })
    throw findFault(error) ?? fromConnectError(error, 'host/no-answer')
  } finally {
    leave.abort()
  }
}
