import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import { macOf } from '../../network/mac.ts'
import { type Taps, tapName } from '../../network/tap.ts'
import type { Detach } from '../../os/exec.ts'
import { removeTree } from '../../os/files.ts'
import type { BootRequest } from '../backend.ts'
import type { StopDeps } from '../end-process.ts'
import { forgetProcess, noteProcess, noteStart, type VmmProcess } from '../vmm-process.ts'
import type { ApiClient, Ping } from './api-client.ts'
import { chCommand } from './argv.ts'
import type { ChHost } from './ch-host.ts'
import { type ChPlaces, chPlaces } from './ch-places.ts'
import { vmConfig } from './vm-config.ts'

const POLL_MS = 50
/** A started VMM answers on its socket within this, busy host included. */
const START_MS = 30_000

export interface BootDeps extends StopDeps {
  detach: Detach
  host: ChHost
  taps: Taps
}

/** Anything else is a VM that is made, or was shut down, and can be booted. */
export const isOn = (state: string | undefined): boolean =>
  state === 'Running' || state === 'Paused' || state === 'BreakPoint'

/** A VMM without a VM, noted; undefined when it ended at once. */
export async function startVmm(
  { host, detach, processes, clock, taps }: BootDeps,
  { vm, nics = [] }: BootRequest,
  signal: AbortSignal,
): Promise<VmmProcess | undefined> {
  const places = chPlaces(vm)
  // It translates for nobody: a NIC without a tap has one on no network.
  if (nics[0]?.tap === undefined) await taps.ensure(tapName(vm.id), signal)
  await forgetProcess(places)
  // Up to v52 a socket that is left makes it end at once.
  for (const name of [places.apiSocketName, places.serialSocketName, places.events])
    await removeTree('ch.clear', join(vm.dir, name))
  await noteStart(places, processes)
  const argv = chCommand(host.program, places).flatMap(({ args }) => args)
  const place = { cwd: vm.dir, logFile: places.log }
  const pid = await detach('ch.spawn', host.program, argv.slice(1), place).catch(host.missing(host.program))
  const identity = processes.identify(pid)
  if (!identity) return undefined
  const process = { identity, startedAt: new Date(clock.now()), acceleration: 'kvm', machine: '' }
  await noteProcess(places, process)
  return process
}

/** Resolves once exactly this process answers; undefined when it ends instead. Raises `vm/start-failed`. */
export async function untilAnswers(
  { processes, clock }: BootDeps,
  api: ApiClient,
  process: VmmProcess,
  signal: AbortSignal,
): Promise<Ping | undefined> {
  const deadline = clock.monotonic() + START_MS
  while (processes.alive(process.identity)) {
    const answer = await api.ping(signal).catch(() => undefined)
    if (answer && (answer.pid === undefined || answer.pid === process.identity.pid)) return answer
    if (clock.monotonic() > deadline)
      throw new Fault('vm/start-failed', 'transient', { detail: 'cloud-hypervisor does not answer on its socket' })
    await clock.sleep(POLL_MS, signal)
  }
  return undefined
}

/** Makes and boots the VM from wherever an earlier boot left it. */
export async function bringUp(
  { host }: BootDeps,
  api: ApiClient,
  { vm, spec, image, nics = [{ mac: macOf(vm.id) }] }: BootRequest,
  signal: AbortSignal,
): Promise<void> {
  const state = await api.state(signal)
  if (isOn(state)) return
  if (state === undefined) {
    const firmware = image.kind === 'disk' ? await host.firmware() : ''
    const net = nics.map(({ mac, tap }, n) => ({ mac, tap: tap ?? tapName(vm.id, n) }))
    const machine = { vmId: vm.id, vcpus: spec.vcpus, memMb: spec.memMb, net }
    await api.create(vmConfig({ ...machine, image, firmware }, chPlaces(vm)), signal)
  }
  await api.boot(signal)
}

/** From here on its silence is taken for a hung guest, not for one that never ran. */
export async function proveBooted(places: ChPlaces, process: VmmProcess, { version }: Ping): Promise<VmmProcess> {
  const booted = { ...process, machine: `cloud-hypervisor-${version}` }
  await noteProcess(places, booted)
  return booted
}
