import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { Fault } from '../../ipc/faults.ts'
import type { Processes, ProcessIdentity } from '../os/process.ts'

const POLL_MS = 50
const KILL_MS = 10_000

export interface StopDeps {
  processes: Processes
  clock: Clock
  log: Log
}

/** SIGKILL, whatever else is going on. Resolves when the process is gone; raises `vm/stop-failed`. */
export async function killProcess(deps: StopDeps, process: ProcessIdentity): Promise<void> {
  const failed = (problem: string, cause?: unknown) =>
    new Fault('vm/stop-failed', 'transient', { detail: `process ${process.pid} ${problem}` }, { cause })
  try {
    deps.processes.signal('vmm.kill', process, 'SIGKILL')
  } catch (error) {
    throw failed('cannot be killed', error)
  }
  if (!(await isGone(deps, process, KILL_MS))) throw failed('does not end')
}

/** True once the process is gone; false after `ms` or when the signal aborts. */
export async function isGone(
  { processes, clock }: StopDeps,
  process: ProcessIdentity,
  ms: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const deadline = clock.monotonic() + ms
  for (;;) {
    if (!processes.alive(process)) return true
    if (clock.monotonic() >= deadline || signal?.aborted) return false
    await clock.sleep(POLL_MS, signal).catch(() => {})
  }
}
