import { faultText, printable } from '../../ipc/fault-text.ts'
import { Fault, type FaultCode, findFault } from '../../ipc/faults.ts'
import { fleetFault } from '../fleet-client.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, notPossible: 3, timedOut: 4 } as const

const USAGE: readonly FaultCode[] = [
  'input/invalid',
  'cloud-init/invalid',
  'input/too-large',
  'input/unconfirmed',
  'vm/ambiguous',
  'host/several',
]
const NOT_POSSIBLE: readonly FaultCode[] = [
  'app/not-running',
  'app/part-missing',
  'image/build-impossible',
  'host/local-impossible',
  'host/unsupported',
  'host/packages-missing',
  'ssh/unsupported',
  'ssh/code-needed',
  'vmm/missing',
]

export function exitCodeOf(code: FaultCode): number {
  if (code === 'app/timeout') return EXIT.timedOut
  if (USAGE.includes(code)) return EXIT.usage
  return NOT_POSSIBLE.includes(code) ? EXIT.notPossible : EXIT.failed
}

/** Any error of a command as the fault to report; an aborted command failed of what aborted it. */
export function faultOf(error: unknown, signal: AbortSignal, socketPath: () => string): Fault {
  const why = signal.aborted ? findFault(signal.reason) : undefined
  // A data folder no socket fits into has no socket path to name.
  return why ?? findFault(error) ?? fleetFault(error, socketPath())
}

/** The one line a failed command says on stderr; `said` is the host's own sentence for what happened. */
export function reasonLine({ code, params }: Fault): string {
  const { what, effect, next } = faultText(code, params)
  return [printable(params['said'] ?? '') || what, effect, next].filter((part) => part !== '').join(' ')
}

/** What to say when the answer itself could not be written; empty for a reader that has enough, as in `eitri vm list | head`. */
export function lostOutput(error: unknown): string | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall !== 'write' || code === undefined) return undefined
  return code === 'EPIPE'
    ? ''
    : `Standard output cannot be written (${code}). What was asked for went on; look at it again.`
}

/** For a question that nobody is there to answer. */
export const unconfirmed = (question: string): Fault => new Fault('input/unconfirmed', 'permanent', { question })

export const invalid = (field: string, value: string, problem: string): Fault =>
  new Fault('input/invalid', 'permanent', { field, value, problem })

/** The same fault in the words of the command line: `--disk-gb` for disk_gb, where the command has that option. */
export function inOptions(fault: Fault, options: readonly string[]): Fault {
  const { code, disposition, params } = fault
  if (code !== 'input/invalid') return fault
  const named = (field: string) => {
    const option = `--${field.replaceAll('_', '-')}`
    return options.includes(option) ? option : field
  }
  const problem = (params['problem'] ?? '').replace(/\b[a-z]+(_[a-z0-9]+)+\b/g, named)
  return new Fault(code, disposition, { ...params, field: named(params['field'] ?? ''), problem }, { cause: fault })
}
