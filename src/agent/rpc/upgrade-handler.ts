import { create } from '@bufbuild/protobuf'
import {
  type PutAgentRequest,
  type PutAgentResponse,
  PutAgentResponseSchema,
  type PutAgentStart,
} from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { FileFrames, invalidFrame } from './file-frames.ts'
import type { AgentSessions } from './sessions.ts'

const WORDS = { start: 'PutAgentStart', frame: 'agent frame', chunk: 'chunk' }

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
    const frames = new FileFrames(requests, WORDS)
    const start = await frames.start(signal)
    const over = AbortSignal.any([signal, this.#sessions.require(start.sessionId).signal])
    const stagedPath = await this.#staging.put(start, whole(frames, Number(start.sizeBytes), over))
    return create(PutAgentResponseSchema, { stagedPath })
  }
}

async function* whole(frames: FileFrames<PutAgentStart>, size: number, over: AbortSignal): AsyncGenerator<Uint8Array> {
  let left = size
  for await (const chunk of frames.chunks(size, over)) {
    left -= chunk.length
    yield chunk
  }
  if (left > 0) throw invalidFrame(WORDS, `it ended ${left} bytes before its end`)
}
