import { type Disposition, Fault } from '../../ipc/faults.ts'
import type { Run, RunResult } from '../os/exec.ts'
import type { TwoStepPoint } from '../os/failpoints.ts'
import { isAbsent } from '../os/files.ts'

const COMMAND_MS = 10_000
/** Thousands of interfaces, or of a table's elements. */
const COMMAND_BYTES = 4 * 1024 * 1024

type Argv = readonly [program: string, ...args: string[]]

/** A program that changes or shows the network. Any exit code is a result; raises `vmm/missing` (permanent) when it is not installed. */
export async function ask(
  run: Run,
  point: TwoStepPoint,
  [program, ...args]: Argv,
  signal?: AbortSignal,
): Promise<RunResult> {
  const bounds = { timeoutMs: COMMAND_MS, outputBytes: COMMAND_BYTES, ...(signal ? { signal } : {}) }
  return await run(point, program, args, bounds).catch((error) => {
    if (!isAbsent(error)) throw error
    throw new Fault('vmm/missing', 'permanent', { detail: `${program} is not installed` }, { cause: error })
  })
}

/** As `ask`, and it must succeed: raises `vmm/failed` with its last words. */
export async function must(run: Run, point: TwoStepPoint, argv: Argv): Promise<RunResult> {
  const result = await ask(run, point, argv)
  if (result.code === 0) return result
  throw new Fault('vmm/failed', 'transient', { detail: `${argv.slice(0, 3).join(' ')}: ${lastWords(result)}` })
}

/** Why a program that did not succeed did not, in its own words where it has any. */
export const lastWords = ({ code, stderr, timedOut }: RunResult): string =>
  timedOut ? 'did not end' : stderr.trim().slice(0, 300) || `ended with ${code}`

/** What it says when the interface it was asked about is not there. */
export const isNoDevice = ({ code, stderr }: RunResult): boolean =>
  code !== 0 && /does not exist|Cannot find device/.test(stderr)

/** What this user may not do fails the next time too. */
export const dispositionOf = ({ stderr }: RunResult): Disposition =>
  /not permitted|denied/.test(stderr) ? 'permanent' : 'transient'
