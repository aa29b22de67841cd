import type { Attach } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { isId } from '../../ipc/names.ts'
import { AGENT_PROTOCOL } from '../../ipc/units.ts'

export type EndCode = 'auth_rejected' | 'superseded' | 'foreign_controller' | 'transient'

/** Why a session ends on purpose; the words go to people. */
export interface EndReason {
  code: EndCode
  detail: string
  /** Name of the other control plane, with foreign_controller. */
  controllerName?: string
}

export type AttachVerdict = { attach: 'same-fleet' | 'adopt' | 'take-over' } | { end: EndReason }

export const NONCE_BYTES = 32
const MAX_CONTROLLER_NAME = 64

/** Whether this Attach may become the session. `fleetId` is the agent's own, empty when it belongs to none. */
export function judgeAttach(attach: Attach, own: { fleetId: string; controllerName: string }): AttachVerdict {
  const rejected = (detail: string): AttachVerdict => ({ end: { code: 'auth_rejected', detail } })
  if (attach.protocolVersion !== AGENT_PROTOCOL)
    return rejected(`this agent speaks protocol ${AGENT_PROTOCOL}, the control plane ${attach.protocolVersion}`)
  if (!isId(attach.fleetId)) return rejected('Attach without a valid fleet id')
  if (attach.nonce.length !== NONCE_BYTES) return rejected(`the nonce of Attach must be ${NONCE_BYTES} bytes`)
  if (attach.controllerName.length > MAX_CONTROLLER_NAME) return rejected('the controller name is too long')
  if (own.fleetId === '') return { attach: 'adopt' }
  if (own.fleetId === attach.fleetId) return { attach: 'same-fleet' }
  if (attach.takeOver) return { attach: 'take-over' }
  const detail = 'this host belongs to another control plane; take it over on purpose, or leave it'
  return { end: { code: 'foreign_controller', detail, controllerName: own.controllerName } }
}
