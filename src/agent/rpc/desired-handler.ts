import { create } from '@bufbuild/protobuf'
import {
  type GetDesiredRequest,
  type GetDesiredResponse,
  GetDesiredResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/desired_pb.js'
import type { Snapshot } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { AgentSessions } from './sessions.ts'

/** Who keeps the last accepted snapshot. */
export interface HeldDesired {
  /** Undefined = none of the present owner was accepted, or what was kept cannot be read. */
  held(): Snapshot | undefined
}

/** GetDesired: for the attached control plane alone. Raises agent/auth-rejected for any other session. */
export function heldDesired(
  engine: HeldDesired,
  sessions: AgentSessions,
  { sessionId }: GetDesiredRequest,
): GetDesiredResponse {
  sessions.require(sessionId)
  const { epoch, contentSha256, state } = engine.held() ?? {}
  return create(GetDesiredResponseSchema, {
    ...(epoch === undefined ? {} : { epoch }),
    ...(contentSha256 ? { contentSha256 } : {}),
    ...(state ? { state } : {}),
  })
}
