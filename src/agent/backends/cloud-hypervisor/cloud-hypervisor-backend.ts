import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { VmSpec } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { BootImage } from '../../images/image-cache.ts'
import { tapName } from '../../network/tap.ts'
import type { Run } from '../../os/exec.ts'
import { readTail } from '../../os/files.ts'
import { connectUnix } from '../../os/unix-socket.ts'
import type { VmLayout } from '../../records/layout.ts'
import { SerialRecorder } from '../../serial/serial-recorder.ts'
import type {
  Backend,
  Booted,
  BootRequest,
  Capabilities,
  CloneRequest,
  CommandPart,
  Complaint,
  RunningVm,
  SerialPump,
  StopOptions,
} from '../backend.ts'
import { cloneDisk } from '../clone-disk.ts'
import { isGone, killProcess } from '../end-process.ts'
import { ExitWatch } from '../exit-watch.ts'
import { growRaw } from '../grow-disk.ts'
import { findProcess, forgetProcess, type VmmFiles, type VmmProcess } from '../vmm-process.ts'
import { ApiClient } from './api-client.ts'
import { chCommand } from './argv.ts'
import { type BootDeps, bringUp, isOn, proveBooted, startVmm, untilAnswers } from './ch-boot.ts'
import { createRawDisk } from './ch-disk.ts'
import { chPlaces } from './ch-places.ts'
import { stopVmm } from './ch-stop.ts'
import { type ChEnding, endingOf, parseEvents } from './event-log.ts'
import { failureReasonOf } from './failure-reason.ts'

/** A VMM that broke off in the middle of an answer is gone within this. */
const DYING_MS = 1_000
const CONNECT_MS = 2_000
/** A VMM whose process lives and that says nothing for this long is hung. */
const HUNG_MS = 20_000
const LOG_TAIL_BYTES = 16 * 1024
const EVENTS_TAIL_BYTES = 64 * 1024

const ENDINGS: Readonly<Record<ChEnding, string>> = {
  'powered-off': 'the guest powered itself off',
  panicked: 'the kernel of the guest panicked',
  '': '',
}

export interface ChDeps extends BootDeps {
  run: Run
  serial: SerialPump
  /** Of a request; absent = as long as an honest one may take. */
  deadlineMs?: number
}

/** What is known of a VM from looking at it; nothing of it is needed to find it again. */
interface Seen {
  recorder?: SerialRecorder
  /** Of the last answer. */
  state?: string
  /** Since when it was asked and nothing heard, monotonic ms. */
  silentSince?: number
  ending?: ChEnding
}

/** cloud-hypervisor as a detached process per VM, steered over its REST socket; its guest has a tap of its own. */
export class CloudHypervisorBackend implements Backend {
  readonly name = 'cloud-hypervisor'
  readonly capabilities: Capabilities = {
    suspend: false,
    shares: false,
    serialInput: true,
    nested: true,
    addressSource: 'none',
    survivesAgentRestart: true,
    liveForward: false,
  }
  readonly #deps: ChDeps
  readonly #seen = new Map<string, Seen>()
  readonly #layouts = new Map<string, VmLayout>()
  readonly #exits: ExitWatch

  constructor(deps: ChDeps) {
    this.#deps = deps
    this.#exits = new ExitWatch(deps.processes, (vmId) => this.#hasEnded(vmId))
  }

  async preflight(signal: AbortSignal): Promise<void> {
    await this.#deps.host.check(signal)
  }

  async prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void> {
    if (image.kind === 'disk') await this.#deps.host.firmware()
    await createRawDisk(this.#deps.run, image, join(vm.dir, chPlaces(vm).disk), spec.diskGb, signal)
  }

  async cloneRootDisk(request: CloneRequest, signal: AbortSignal): Promise<void> {
    const { vm, source, spec } = request
    const disks = { from: source.vm.rawDisk, fromName: source.name, to: vm.rawDisk, format: 'raw' } as const
    await cloneDisk(this.#deps.run, { ...request, ...disks, diskGb: spec.diskGb }, signal)
  }

  async growDisk(vm: VmLayout, diskGb: number): Promise<boolean> {
    if (await this.#find(vm)) return false
    await growRaw(vm.rawDisk, diskGb)
    return true
  }

  async boot(request: BootRequest, signal: AbortSignal): Promise<Booted> {
    const { vm } = request
    const found = await this.#find(vm)
    if (found && (await this.#mayRun(vm, found))) return this.#attend(vm, found)
    if (!found) await this.#letGo(vm)
    const process = found ?? (await startVmm(this.#deps, request, signal))
    if (!process) throw await this.#startFailed(vm)
    const api = this.#api(vm)
    try {
      const answer = await untilAnswers(this.#deps, api, process, signal)
      if (!answer) throw await this.#startFailed(vm)
      await bringUp(this.#deps, api, request, signal)
      return this.#attend(vm, await proveBooted(chPlaces(vm), process, answer))
    } catch (error) {
      // The guest has not run, as far as anybody saw: nothing is lost, and the next boot begins with a clean VMM. A boot cut short goes on there.
      if (signal.aborted) throw error
      throw await this.#giveUp(vm, process, error)
    }
  }

  files(vm: VmLayout): VmmFiles {
    return chPlaces(vm)
  }

  async command({ vm }: BootRequest): Promise<CommandPart[]> {
    return chCommand(this.#deps.host.program, chPlaces(vm))
  }

  async shutdown(vm: VmLayout, options: StopOptions, signal: AbortSignal): Promise<void> {
    const process = await this.#find(vm)
    if (process) await stopVmm(this.#deps, vm.id, process.identity, this.#api(vm), options, signal)
    await this.#letGo(vm)
  }

  async destroy(vm: VmLayout): Promise<void> {
    const process = await this.#find(vm)
    if (process) await killProcess(this.#deps, process.identity)
    await this.#deps.taps.remove(tapName(vm.id))
    await this.#letGo(vm)
  }

  async running(vm: VmLayout): Promise<RunningVm | undefined> {
    const process = await this.#find(vm)
    if (!process) {
      this.#see(vm).ending ??= await this.#readEnding(vm)
      return undefined
    }
    return (await this.#mayRun(vm, process)) ? this.#attend(vm, process) : undefined
  }

  async failureReason(vm: VmLayout): Promise<string> {
    const ending = this.#seen.get(vm.id)?.ending ?? (await this.#readEnding(vm))
    return ENDINGS[ending] || failureReasonOf((await readTail(chPlaces(vm).log, LOG_TAIL_BYTES)).toString('utf8'))
  }

  endedCleanly(vm: VmLayout): boolean {
    return this.#seen.get(vm.id)?.ending === 'powered-off'
  }

  complaint(vm: VmLayout): Complaint | undefined {
    const { silentSince, state } = this.#seen.get(vm.id) ?? {}
    if (silentSince !== undefined && this.#deps.clock.monotonic() - silentSince >= HUNG_MS)
      return { code: 'vm/hung', detail: '', paused: false }
    if (state === 'Paused') return { code: 'vmm/failed', detail: 'the guest is paused', paused: true }
    return undefined
  }

  /** The guest's tap is on no network yet. */
  async address(): Promise<string> {
    return ''
  }
  async networkAddress(): Promise<string> {
    return ''
  }

  onExit(fn: (vmId: string) => void): () => void {
    return this.#exits.onExit(fn)
  }

  async close(): Promise<void> {
    this.#exits.close()
    await Promise.all([...this.#seen.values()].map(({ recorder }) => recorder?.stop()))
  }

  #api(vm: VmLayout): ApiClient {
    const { deadlineMs } = this.#deps
    const connect = () => connectUnix(vm.dir, chPlaces(vm).apiSocketName, CONNECT_MS)
    return new ApiClient({ connect, ...(deadlineMs === undefined ? {} : { deadlineMs }) })
  }

  #find(vm: VmLayout): Promise<VmmProcess | undefined> {
    const { processes, clock } = this.#deps
    // cloud-hypervisor writes no pidfile: one that nobody noted is asked over the socket in its directory.
    const ask = async () => {
      const answer = await this.#api(vm)
        .ping()
        .catch(() => undefined)
      return answer?.pid
    }
    return findProcess(chPlaces(vm), processes, clock.now, ask)
  }

  /** Whether the guest runs; one that did and whose VMM says nothing may still. */
  async #mayRun(vm: VmLayout, process: VmmProcess): Promise<boolean> {
    const seen = this.#see(vm)
    try {
      const state = await this.#api(vm).state()
      delete seen.silentSince
      seen.state = state ?? ''
      if (isOn(state) && process.machine === '') await proveBooted(chPlaces(vm), process, await this.#api(vm).ping())
      return isOn(state)
    } catch (error) {
      if (seen.silentSince === undefined)
        this.#deps.log.warn('vm.no-answer', { vm: vm.id, error: asFault(error).message })
      seen.silentSince ??= this.#deps.clock.monotonic()
      // Without its directory it cannot answer, and is nobody's to go on with.
      return process.machine !== '' || !(await realpath(vm.dir).catch(() => ''))
    }
  }

  /** What the boot failed with, once its VMM is gone. */
  async #giveUp(vm: VmLayout, process: VmmProcess, error: unknown): Promise<Fault> {
    const died = await isGone(this.#deps, process.identity, DYING_MS)
    await killProcess(this.#deps, process.identity)
    await this.#letGo(vm)
    const fault = asFault(error)
    if (died) return await this.#startFailed(vm)
    if (fault.code !== 'vmm/failed') return fault
    return new Fault('vm/start-failed', fault.disposition, fault.params, { cause: error })
  }

  async #startFailed(vm: VmLayout): Promise<Fault> {
    const detail = (await this.failureReason(vm)) || 'cloud-hypervisor ended at once'
    return new Fault('vm/start-failed', 'transient', { detail })
  }

  /** A booted guest: its end is watched for and its console recorded. */
  #attend(vm: VmLayout, process: VmmProcess): Booted {
    const { clock, log, serial } = this.#deps
    this.#exits.watch(vm.id, process.identity)
    const seen = this.#see(vm)
    delete seen.ending
    seen.recorder ??= new SerialRecorder({
      vmId: vm.id,
      logPath: vm.serialLog,
      connect: () => connectUnix(vm.dir, chPlaces(vm).serialSocketName, CONNECT_MS),
      clock,
      log,
      onClosed: () => void this.#exits.check(vm.id),
    })
    const { recorder } = seen
    serial.ensure({ id: vm.id, logPath: vm.serialLog, connect: () => recorder.input() })
    const { startedAt, machine, identity } = process
    return { acceleration: 'kvm', startedAt, machine, identity }
  }

  #see(vm: VmLayout): Seen {
    this.#layouts.set(vm.id, vm)
    const seen = this.#seen.get(vm.id) ?? {}
    this.#seen.set(vm.id, seen)
    return seen
  }

  async #readEnding(vm: VmLayout): Promise<ChEnding> {
    const text = (await readTail(join(vm.dir, chPlaces(vm).events), EVENTS_TAIL_BYTES)).toString('utf8')
    return endingOf(parseEvents(text))
  }

  async #hasEnded(vmId: string): Promise<void> {
    const vm = this.#layouts.get(vmId)
    if (vm) this.#see(vm).ending = await this.#readEnding(vm)
  }

  async #letGo(vm: VmLayout): Promise<void> {
    await this.#exits.check(vm.id)
    await this.#seen.get(vm.id)?.recorder?.finish()
    this.#seen.delete(vm.id)
    this.#layouts.delete(vm.id)
    this.#deps.serial.stop(vm.id)
    await forgetProcess(chPlaces(vm))
  }
}
