import { create } from '@bufbuild/protobuf'
import {
  type GuestClock,
  type SetGuestClockRequest,
  type SetGuestClockResponse,
  SetGuestClockResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { AgentSessions } from './sessions.ts'

/** Who sets clocks of guests. */
export interface ClockSetter {
  /** Resolves with what came of it. Raises `clock/not-running` (permanent). */
  setClock(vmId: string, signal: AbortSignal): Promise<GuestClock | undefined>
}

/** SetGuestClock. */
export class ClockHandler {
  readonly #clocks: ClockSetter
  readonly #sessions: AgentSessions

  constructor(clocks: ClockSetter, sessions: AgentSessions) {
    this.#clocks = clocks
    this.#sessions = sessions
  }

  async set({ sessionId, vmId }: SetGuestClockRequest, signal: AbortSignal): Promise<SetGuestClockResponse> {
    const session = this.#sessions.require(sessionId)
    const clock = await this.#clocks.setClock(vmId, AbortSignal.any([signal, session.signal]))
    return create(SetGuestClockResponseSchema, clock ? { clock } : {})
  }
}
