import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type CheckNetworkRequest,
  type CheckNetworkResponse,
  CheckNetworkResponseSchema,
  type MendNetworkRequest,
  type MendNetworkResponse,
  MendNetworkResponseSchema,
  type NetworkFindingSchema,
} from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { AgentSessions } from './sessions.ts'

type Finding = MessageInitShape<typeof NetworkFindingSchema>

/** Who looks at the host's network and mends it. */
export interface NetworkDoctor {
  check(): Promise<Finding[]>
  mend(findingId: string): Promise<Finding[]>
  undo(findingId: string): Promise<Finding[]>
}

/** CheckNetwork and MendNetwork. */
export class NetworkHandler {
  readonly #doctor: NetworkDoctor
  readonly #sessions: AgentSessions

  constructor(doctor: NetworkDoctor, sessions: AgentSessions) {
    this.#doctor = doctor
    this.#sessions = sessions
  }

  async check({ sessionId }: CheckNetworkRequest): Promise<CheckNetworkResponse> {
    this.#sessions.require(sessionId)
    return create(CheckNetworkResponseSchema, { findings: await this.#doctor.check() })
  }

  async mend({ sessionId, findingId, undo }: MendNetworkRequest): Promise<MendNetworkResponse> {
    this.#sessions.require(sessionId)
    const findings = undo ? this.#doctor.undo(findingId) : this.#doctor.mend(findingId)
    return create(MendNetworkResponseSchema, { findings: await findings })
  }
}
