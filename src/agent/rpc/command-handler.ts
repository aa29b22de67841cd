import { create } from '@bufbuild/protobuf'
import {
  type ShowCommandRequest,
  type ShowCommandResponse,
  ShowCommandResponseSchema,
} from '../../ipc/gen/eitri/agent/v1/command_pb.js'
import type { ShownCommand } from '../show-command/show-command.ts'
import type { AgentSessions } from './sessions.ts'

/** Who knows how a VM's hypervisor was started, and would be. */
export interface CommandTeller {
  /** Raises `vm/not-found`, and for a stopped VM what its start would raise. */
  show(vmId: string, signal: AbortSignal): Promise<ShownCommand>
}

/** ShowCommand: for the attached control plane alone. */
export async function commandOf(
  teller: CommandTeller,
  sessions: AgentSessions,
  { sessionId, vmId }: ShowCommandRequest,
  signal: AbortSignal,
): Promise<ShowCommandResponse> {
  const session = sessions.require(sessionId)
  const { backend, cwd, pid, runsKnown, parts, nextUnknown } = await teller.show(
    vmId,
    AbortSignal.any([signal, session.signal]),
  )
  return create(ShowCommandResponseSchema, {
    ...{ backend, cwd, runsKnown, parts, nextUnknown },
    ...(pid === undefined ? {} : { pid }),
  })
}
