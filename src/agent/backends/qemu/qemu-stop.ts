import { asFault } from '../../../ipc/faults.ts'
import type { ProcessIdentity } from '../../os/process.ts'
import type { StopOptions } from '../backend.ts'
import { isGone, killProcess, type StopDeps } from '../end-process.ts'
import type { QemuMonitor } from './qemu-monitor.ts'

const QUIT_MS = 5_000
/** A guest still booting may miss the power button: it is pressed again this often. */
const PRESS_AGAIN_MS = 5_000

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

/** True once the guest powered itself off; false when it did not, or is dead and cannot. */
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
      if (!(await monitor.powerButton())) return false
    } catch (error) {
      log.warn('vm.power-button-failed', { vm: monitor.vmId, error: asFault(error).message })
    }
    const waitMs = Math.min(PRESS_AGAIN_MS, deadline - clock.monotonic())
    if (await isGone(deps, process, waitMs, AbortSignal.any([hurry, signal]))) return true
    signal.throwIfAborted()
  }
  return !processes.alive(process)
}
