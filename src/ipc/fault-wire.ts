import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { asFault, Fault, type FaultCode, faultFromData, findFault } from './faults.ts'
import { type Fault as FaultMessage, FaultSchema } from './gen/eitri/fleet/v1/fault_pb.js'

const BY_CODE: Partial<Record<FaultCode, Code>> = {
  'host/not-found': Code.NotFound,
  'vm/not-found': Code.NotFound,
  'image/not-found': Code.NotFound,
  'tenant/not-found': Code.NotFound,
  'ca/not-found': Code.NotFound,
  'certificate/not-found': Code.NotFound,
  'tenant/name-taken': Code.AlreadyExists,
  'tenant/over-quota': Code.ResourceExhausted,
  'task/not-found': Code.NotFound,
  'input/too-large': Code.ResourceExhausted,
  'host/name-taken': Code.AlreadyExists,
  'host/already-added': Code.AlreadyExists,
  'vm/name-taken': Code.AlreadyExists,
  'image/name-taken': Code.AlreadyExists,
  'ca/name-taken': Code.AlreadyExists,
  'ca/key-taken': Code.AlreadyExists,
  'input/unconfirmed': Code.InvalidArgument,
  'input/invalid': Code.InvalidArgument,
  'cloud-init/invalid': Code.InvalidArgument,
  'vm/ambiguous': Code.InvalidArgument,
  'ca/ambiguous': Code.InvalidArgument,
  'certificate/none': Code.InvalidArgument,
  'host/several': Code.InvalidArgument,
}

/** The ConnectRPC code of a fault: by its code where the meaning is fixed, else by its disposition. */
export function connectCodeOf(fault: Fault): Code {
  const byCode = BY_CODE[fault.code]
  if (byCode !== undefined) return byCode
  switch (fault.disposition) {
    case 'transient':
      return Code.Unavailable
    case 'permanent':
      return Code.FailedPrecondition
    case 'conflict':
      return Code.Aborted
    case 'cancelled':
      return Code.Canceled
    case 'bug':
      return Code.Internal
  }
}

/** Everything but `cause`, which stays local. */
export function faultToMessage(fault: Fault): FaultMessage {
  const { retryAfterMs, ...data } = fault.toData()
  return create(FaultSchema, {
    ...data,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(Math.round(retryAfterMs)) }),
  })
}

export const faultFromMessage = (message: FaultMessage): Fault => faultFromData(message)

/** For a service implementation: what to throw so that the other side finds the fault again; `words` say it to people who read the error alone. */
export function toConnectError(error: unknown, words = (fault: Fault) => fault.message): ConnectError {
  if (error instanceof ConnectError && !findFault(error)) return error
  const fault = asFault(error)
  return new ConnectError(
    words(fault),
    connectCodeOf(fault),
    undefined,
    [{ desc: FaultSchema, value: faultToMessage(fault) }],
    error,
  )
}

/** For a caller: the fault the other side threw, or one that says the other side is not there (`otherwise`). */
export function fromConnectError(error: unknown, otherwise: FaultCode = 'app/not-running'): Fault {
  const own = findFault(error)
  if (own) return own
  const e = ConnectError.from(error)
  const [detail] = e.findDetails(FaultSchema)
  if (detail) return faultFromMessage(detail)
  if (e.code === Code.Canceled) return new Fault('app/cancelled', 'cancelled', {}, { cause: error })
  if (e.code === Code.DeadlineExceeded) return new Fault('app/timeout', 'transient', {}, { cause: error })
  if (e.code === Code.Unavailable || e.code === Code.Unknown)
    return new Fault(otherwise, 'transient', { message: e.rawMessage.slice(0, 300) }, { cause: error })
  if (e.code === Code.ResourceExhausted)
    return new Fault('input/too-large', 'permanent', { message: e.rawMessage.slice(0, 300) }, { cause: error })
  return new Fault('app/bug', 'bug', { message: e.rawMessage.slice(0, 300) }, { cause: error })
}
