import { Fault } from '../../ipc/faults.ts'
import type { Run, RunResult } from '../os/exec.ts'
import type { TwoStepPoint } from '../os/failpoints.ts'
import { isAbsent } from '../os/files.ts'

const COMMAND_MS = 10_000
/** Thousands of interfaces, or of a table's elements. */
const COMMAND_BYTES = 4 * 1024 * 1024

/** A program that changes or shows the network. Any exit code is a result; raises `vmm/missing` (permanent) when it is not installed. */
export async function ask(run: Run, point: TwoStepPoint, program: string, ...args: string[]): Promise<RunResult> {
  return await run(point, program, args, { timeoutMs: COMMAND_MS, outputBytes: COMMAND_BYTES }).catch((error) => {
    if (!isAbsent(error)) throw error
    throw new Fault('vmm/missing', 'permanent', { detail: `${program} is not installed` }, { cause: error })
  })
}

/** As `ask`, and it must succeed: raises `vmm/failed` with its last words. */
export async function must(run: Run, point: TwoStepPoint, program: string, ...args: string[]): Promise<RunResult> {
  const result = await ask(run, point, program, ...args)
  if (result.code === 0) return result
  const said = result.timedOut ? 'did not end' : result.stderr.trim().slice(0, 300) || `ended with ${result.code}`
  throw new Fault('vmm/failed', 'transient', { detail: `${program} ${args.slice(0, 2).join(' ')}: ${said}` })
}
