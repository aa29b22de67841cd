import { asFault } from '../../../ipc/faults.ts'
import type { ProcessIdentity } from '../../os/process.ts'
import type { StopOptions } from '../backend.ts'
import { isGone, killProcess, type StopDeps } from '../end-process.ts'
import { type ApiClient, ApiRefusal } from './api-client.ts'

const SHUTDOWN_MS = 5_000
const TERMINATE_MS = 2_000
/** A guest still booting may miss the power button: it is pressed again this often. */
const PRESS_AGAIN_MS = 5_000

/**
 * Power button, then vm.shutdown and vmm.shutdown, then SIGTERM, then SIGKILL, each bounded. Raises `vm/stop-failed`
 * when even that does not end it.
 */
export async function stopVmm(
  deps: StopDeps,
  vmId: string,
  process: ProcessIdentity,
  api: ApiClient,
  options: StopOptions,
  signal: AbortSignal,
): Promise<void> {
  if (await askGuest(deps, vmId, process, api, options, signal)) return
  if ((await pullPlug(api)) && (await isGone(deps, process, SHUTDOWN_MS))) return
  if (terminate(deps, process) && (await isGone(deps, process, TERMINATE_MS))) return
  await killProcess(deps, process)
}

/** True once the guest powered itself off. */
async function askGuest(
  deps: StopDeps,
  vmId: string,
  process: ProcessIdentity,
  api: ApiClient,
  { graceMs, hurry }: StopOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, log, processes } = deps
  const deadline = clock.monotonic() + graceMs
  const ending = AbortSignal.any([hurry, signal])
  while (clock.monotonic() < deadline && !hurry.aborted) {
    const again = clock.monotonic() + PRESS_AGAIN_MS
    await pressButton(api, ending).catch((error) => {
      if (!ending.aborted && processes.alive(process))
        log.warn('vm.power-button-failed', { vm: vmId, error: asFault(error).message })
    })
    if (await isGone(deps, process, Math.min(again, deadline) - clock.monotonic(), ending)) return true
    signal.throwIfAborted()
  }
  return !processes.alive(process)
}

/** A paused guest is let run, else it would never notice. */
async function pressButton(api: ApiClient, signal: AbortSignal): Promise<void> {
  if ((await api.state(signal)) === 'Paused') await api.resume(signal)
  await api.powerButton(signal)
}

/** False when the VMM does not answer; a refusal is an answer. */
async function pullPlug(api: ApiClient): Promise<boolean> {
  const answers = async (call: Promise<void>) =>
    await call.then(
      () => true,
      (error) => error instanceof ApiRefusal,
    )
  return (await answers(api.shutdown())) && (await answers(api.shutdownVmm()))
}

function terminate({ processes }: StopDeps, process: ProcessIdentity): boolean {
  try {
    return processes.signal('ch.terminate', process, 'SIGTERM')
  } catch {
    // What may not be told to end may not be killed either: that says so.
    return false
  }
}
