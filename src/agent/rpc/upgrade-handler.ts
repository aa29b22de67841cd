import { create } from '@bufbuild/protobuf'
import { Fault } from '../../ipc/faults.ts'
import {
  type PutAgentRequest,
  type PutAgentResponse,
  PutAgentResponseSchema,
  type PutAgentStart,
} from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { LIMITS, TIMES } from '../../ipc/units.ts'
import { nextWithin } from './deadlines.ts'
import type { AgentSessions } from './sessions.ts'

/** Where a newer agent is put; answers its path. Raises agent/upgrade-refused and host/disk-full. */
export interface AgentReceiver {
  put(start: PutAgentStart, chunks: AsyncIterable<Uint8Array>): Promise<string>
}

/** PutAgent: one newer agent, in order. */
export class UpgradeHandler {
  readonly #staging: AgentReceiver
  readonly #sessions: AgentSessions

  constructor(staging: AgentReceiver, sessions: AgentSessions) {
    this.#staging = staging
    this.#sessions = sessions
  }

  /** Raises agent/auth-rejected, input/invalid, app/timeout and what the receiver raises; nothing of it stays then. */
  async put(requests: AsyncIterable<PutAgentRequest>, signal: AbortSignal): Promise<PutAgentResponse> {
    const incoming = requests[Symbol.asyncIterator]()
    const first = await nextWithin(incoming, TIMES.snapshotWriteMs, stalled, signal)
    if (first.done === true || first.value.message.case !== 'start')
      throw malformed('the first frame must be PutAgentStart')
    const start = first.value.message.value
    const over = AbortSignal.any([signal, this.#sessions.require(start.sessionId).signal])
    const stagedPath = await this.#staging.put(start, chunksOf(incoming, Number(start.sizeBytes), over))
    return create(PutAgentResponseSchema, { stagedPath })
  }
}

async function* chunksOf(
  incoming: AsyncIterator<PutAgentRequest>,
  size: number,
  over: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let left = size; ; ) {
    const next = await nextWithin(incoming, TIMES.snapshotWriteMs, stalled, over)
    if (next.done === true) {
      if (left > 0) throw malformed(`it ended ${left} bytes before its end`)
      return
    }
    const { message } = next.value
    if (message.case !== 'chunk') throw malformed(`${message.case ?? 'an empty frame'} between chunks`)
    if (message.value.length > LIMITS.imageChunkBytes)
      throw new Fault('input/too-large', 'permanent', { message: `chunk of ${message.value.length} bytes` })
    if (message.value.length > left) throw malformed('more bytes than the size it declared')
    left -= message.value.length
    yield message.value
  }
}

const stalled = () => new Fault('app/timeout', 'transient', { timeout: `${TIMES.snapshotWriteMs} ms` })
const malformed = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'agent frame', problem })
