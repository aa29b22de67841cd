import { asFault, Fault } from '../../../ipc/faults.ts'
import type { ProcessIdentity } from '../../os/process.ts'
import type { StopOptions } from '../backend.ts'
import { isGone, killProcess, type StopDeps } from '../end-process.ts'
import { SilentVfkit, type VfkitClient } from './vfkit-client.ts'

const HARD_STOP_MS = 5_000
/** vfkit asks the guest once more at SIGTERM, waits 5 s and forces it off. */
const TERMINATE_MS = 8_000
/** A guest still booting may miss the request: it is asked again this often. */
const ASK_AGAIN_MS = 5_000
/** So often in a row, this far apart, a vfkit may fail to answer before it is told by signal. */
const UNANSWERED_LIMIT = 3
const UNANSWERED_MS = 200

/** One VM as the stop sees it. */
export interface StoppingVm {
  id: string
  process: ProcessIdentity
  restSocket: string
}

/**
 * Stop, then HardStop, then SIGTERM, then SIGKILL, each bounded. A vfkit that does not answer gets SIGTERM at once: it
 * is the one other way to have the guest asked. An answer that never comes because the process ended is success.
 * Raises `vm/stop-failed` when even SIGKILL does not end it.
 */
export async function stopVfkit(
  deps: StopDeps,
  client: VfkitClient,
  vm: StoppingVm,
  options: StopOptions,
  signal: AbortSignal,
): Promise<void> {
  const outcome = await askGuest(deps, client, vm, options, signal)
  if (outcome === 'gone') return
  if (outcome === 'deaf' && (await hardStop(deps, client, vm))) return
  if (terminate(deps, vm) && (await isGone(deps, vm.process, TERMINATE_MS))) return
  await killProcess(deps, vm.process)
}

async function askGuest(
  deps: StopDeps,
  client: VfkitClient,
  vm: StoppingVm,
  { graceMs, hurry }: StopOptions,
  signal: AbortSignal,
): Promise<'gone' | 'deaf' | 'silent'> {
  const { clock, log, processes } = deps
  const deadline = clock.monotonic() + graceMs
  const ending = AbortSignal.any([hurry, signal])
  let unanswered = 0
  while (clock.monotonic() < deadline && !hurry.aborted && unanswered < UNANSWERED_LIMIT) {
    const again = clock.monotonic() + ASK_AGAIN_MS
    try {
      await powerOff(client, vm.restSocket)
      unanswered = 0
    } catch (error) {
      if (error instanceof SilentVfkit) unanswered++
      if (processes.alive(vm.process)) log.warn('vm.stop-refused', { vm: vm.id, error: asFault(error).message })
    }
    const waitMs = unanswered > 0 ? UNANSWERED_MS : Math.min(again, deadline) - clock.monotonic()
    if (await isGone(deps, vm.process, waitMs, ending)) return 'gone'
    signal.throwIfAborted()
  }
  if (!processes.alive(vm.process)) return 'gone'
  return unanswered > 0 ? 'silent' : 'deaf'
}

/** True once the process is gone. */
async function hardStop(deps: StopDeps, client: VfkitClient, vm: StoppingVm): Promise<boolean> {
  const told = await client.change(vm.restSocket, 'HardStop').then(
    () => true,
    (error) => {
      if (deps.processes.alive(vm.process))
        deps.log.warn('vm.hard-stop-failed', { vm: vm.id, error: asFault(error).message })
      return error instanceof SilentVfkit
    },
  )
  return await isGone(deps, vm.process, told ? HARD_STOP_MS : 0)
}

/** A paused guest is let run, else it would never notice. */
async function powerOff(client: VfkitClient, socket: string): Promise<void> {
  const { state, canStop } = await client.state(socket)
  if (state.endsWith('Paused')) await client.change(socket, 'Resume')
  else if (!canStop)
    throw new Fault('vmm/failed', 'transient', { detail: 'macOS says this guest cannot be asked to stop' })
  await client.change(socket, 'Stop')
}

/** False when it is gone already, or may not be told: then SIGKILL will say so. */
function terminate({ processes, log }: StopDeps, vm: StoppingVm): boolean {
  try {
    return processes.signal('vfkit.terminate', vm.process, 'SIGTERM')
  } catch (error) {
    log.warn('vm.terminate-failed', { vm: vm.id, pid: vm.process.pid, error: String(error) })
    return false
  }
}
