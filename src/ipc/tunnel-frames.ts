import { fromJsonString, toJsonString } from '@bufbuild/protobuf'
import { faultFromMessage, faultToMessage } from './fault-wire.ts'
import { Fault } from './faults.ts'
import { FaultSchema } from './gen/eitri/fleet/v1/fault_pb.js'

/** Upgraded to a WebSocket once the guest took the connection: `?vm=NAME&port=N`, and `&login=NAME` for a login by certificate. */
export const TUNNEL_PATH = '/tunnel'

/** A text message. Bytes are binary messages; this one ends a side, and its other side may go on. */
export const TUNNEL_END = 'end'

/** Most that one end takes as a text message, bytes. */
const TEXT_BYTES = 64 * 1024

/** Why it ended, as the body of a refused upgrade or as the last text message. */
export const tunnelFault = (fault: Fault): string => toJsonString(FaultSchema, faultToMessage(fault))

/** Of what came in place of bytes; never raises. */
export function faultOfTunnel(text: string): Fault {
  try {
    if (text.length <= TEXT_BYTES)
      return faultFromMessage(fromJsonString(FaultSchema, text, { ignoreUnknownFields: true }))
  } catch {
    // Said by something else than a control plane of this release.
  }
  return new Fault('port/no-way', 'transient', { detail: 'the control plane gave no reason that can be read' })
}
