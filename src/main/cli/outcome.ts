import { ConnectError } from '@connectrpc/connect'
import { faultLine } from '../../ipc/fault-text.ts'
import { fromConnectError } from '../../ipc/fault-wire.ts'
import { asFault, Fault, type FaultCode, findFault } from '../../ipc/faults.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, notPossible: 3, timedOut: 4 } as const

const USAGE: readonly FaultCode[] = ['input/invalid', 'input/too-large', 'vm/ambiguous', 'host/several']
const NOT_POSSIBLE: readonly FaultCode[] = [
  'app/not-running',
  'app/part-missing',
  'image/build-impossible',
  'host/local-impossible',
  'host/unsupported',
  'host/packages-missing',
  'ssh/unsupported',
  'vmm/missing',
]

export function exitCodeOf(code: FaultCode): number {
  if (code === 'app/timeout') return EXIT.timedOut
  if (USAGE.includes(code)) return EXIT.usage
  return NOT_POSSIBLE.includes(code) ? EXIT.notPossible : EXIT.failed
}

/** Any error of a command as the fault to report; an aborted command failed of what aborted it. */
export function faultOf(error: unknown, signal: AbortSignal, socketPath: string): Fault {
  if (signal.aborted) {
    const why = findFault(signal.reason)
    if (why) return why
  }
  const fault = error instanceof ConnectError ? fromConnectError(error) : asFault(error)
  if (fault.code !== 'app/not-running' || fault.params['socket']) return fault
  return new Fault(fault.code, fault.disposition, { ...fault.params, socket: socketPath }, { cause: fault })
}

/** The one line a failed command says on stderr. */
export const reasonLine = (fault: Fault): string => faultLine(fault.code, fault.params)

export const invalid = (field: string, value: string, problem: string): Fault =>
  new Fault('input/invalid', 'permanent', { field, value, problem })
