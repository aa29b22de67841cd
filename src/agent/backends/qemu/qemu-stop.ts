import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { Processes, ProcessIdentity } from '../../os/process.ts'
import type { StopOptions } from '../backend.ts'
import type { QemuMonitor } from './qemu-monitor.ts'

const POLL_MS = 50
const QUIT_MS = 5_000
const KILL_MS = 10_000
/** A guest still booting may miss the power button: it is pressed again this often. */
const PRESS_AGAIN_MS = 5_000

export interface StopDeps {
  processes: Processes
  clock: Clock
  log: Log
}

/** Power button, then QMP quit, then SIGKILL, each bounded. Raises `vm/stop-failed` when even that does not end it. */
export async function stopQemu(
  deps: StopDeps,
  process: ProcessIdentity,
  monitor: QemuMonitor,
  options: StopOptions,
  signal: AbortSignal,
): Promise<void> {
  if (await askGuest(deps, process, monitor, options, signal)) return
  const asked = await monitor.quit().then(
    () => true,
    () => false,
  )
  if (asked && (await isGone(deps, process, QUIT_MS))) return
  await killProcess(deps, process)
}

/** True once the guest powered itself off. */
async function askGuest(
  deps: StopDeps,
  process: ProcessIdentity,
  monitor: QemuMonitor,
  { graceMs, hurry }: StopOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, log, processes } = deps
  const deadline = clock.monotonic() + graceMs
  while (clock.monotonic() < deadline && !hurry.aborted) {
    try {
      await monitor.powerButton()
    } catch (error) {
      log.warn('vm.power-button-failed', { vm: monitor.vmId, error: asFault(error).message })
    }
    const waitMs = Math.min(PRESS_AGAIN_MS, deadline - clock.monotonic())
    if (await isGone(deps, process, waitMs, AbortSignal.any([hurry, signal]))) return true
    signal.throwIfAborted()
  }
  return !processes.alive(process)
}

/** SIGKILL, whatever else is going on. Resolves when the process is gone; raises `vm/stop-failed`. */
export async function killProcess(deps: StopDeps, process: ProcessIdentity): Promise<void> {
  const failed = (problem: string, cause?: unknown) =>
    new Fault('vm/stop-failed', 'transient', { detail: `process ${process.pid} ${problem}` }, { cause })
  try {
    deps.processes.signal(process, 'SIGKILL')
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
