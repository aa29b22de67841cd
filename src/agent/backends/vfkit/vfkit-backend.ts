import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { VmSpec } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { BootImage } from '../../images/image-cache.ts'
import { macOf } from '../../network/mac.ts'
import type { Detach, Run } from '../../os/exec.ts'
import { ensureDir, isAbsent, readRange, readTail, removeTree, sizeIfPresent } from '../../os/files.ts'
import type { Processes } from '../../os/process.ts'
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
import { killProcess } from '../end-process.ts'
import { ExitWatch } from '../exit-watch.ts'
import { growRaw } from '../grow-disk.ts'
import { SharedLook } from '../shared-look.ts'
import { findProcess, forgetProcess, noteProcess, noteStart, type VmmFiles, type VmmProcess } from '../vmm-process.ts'
import { vfkitArgv } from './argv.ts'
import { failureReasonOf } from './failure-reason.ts'
import { LEASE_FILE_LIMIT, leasedAddress, parseLeases } from './leases.ts'
import { vfkitPlaces } from './places.ts'
import { SerialLine } from './serial-line.ts'
import { VfkitClient } from './vfkit-client.ts'
import { createRawDisk } from './vfkit-disk.ts'
import { stopVfkit } from './vfkit-stop.ts'

/** What RunningVm.acceleration says: Apple's Virtualization framework, the only way vfkit knows. */
const ACCELERATION = 'vz'
/** The framework has no versioned machines to pin. */
const MACHINE = 'vz'
const POLL_MS = 50
/** A started vfkit answers on its socket within this, busy host included. */
const START_MS = 30_000
const VERSION_MS = 10_000
const LOG_TAIL_BYTES = 16 * 1024

export interface VfkitDeps {
  /** Path, or a name looked up on PATH. */
  program: string
  run: Run
  detach: Detach
  processes: Processes
  clock: Clock
  log: Log
  serial: SerialPump
  /** Where the operating system's DHCP server keeps its leases. */
  leases: string
  /** Of the programs around vfkit, whose options differ. */
  platform: NodeJS.Platform
}

interface Console {
  line: SerialLine
  recorder: SerialRecorder
}

/**
 * vfkit as a detached process per VM. It keeps no log of the console: the agent records it, so that what a guest prints
 * while no agent runs waits in a few KiB of terminal, after which the guest waits too.
 */
export class VfkitBackend implements Backend {
  readonly name = 'vfkit'
  readonly capabilities: Capabilities = {
    suspend: false,
    shares: false,
    serialInput: true,
    nested: false,
    addressSource: 'leases',
    survivesAgentRestart: true,
    liveForward: false,
  }
  readonly #deps: VfkitDeps
  readonly #client = new VfkitClient()
  readonly #consoles = new Map<string, Console>()
  readonly #exits: ExitWatch
  readonly #checked = new SharedLook(() => this.#check())

  constructor(deps: VfkitDeps) {
    this.#deps = deps
    this.#exits = new ExitWatch(deps.processes, async () => {})
  }

  async preflight(signal: AbortSignal): Promise<void> {
    await this.#checked.get(signal)
  }

  async #check(): Promise<void> {
    const { program, run } = this.#deps
    const options = { timeoutMs: VERSION_MS }
    const { code, stderr } = await run('vfkit.ask-version', program, ['--version'], options).catch(this.#missing)
    if (code !== 0) throw new Fault('vmm/failed', 'permanent', { detail: `${program}: ${stderr.trim().slice(0, 300)}` })
  }

  async prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void> {
    await createRawDisk(this.#deps.run, image, vfkitPlaces(vm).disk, spec.diskGb, signal)
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
    const process = found ?? (await this.#spawn(vm, await this.command(request)))
    if (!found) await this.#untilAnswers(vm, process, signal)
    return { ...this.#attend(vm, process), machine: MACHINE }
  }

  async command({ vm, spec, image }: BootRequest): Promise<CommandPart[]> {
    const places = vfkitPlaces(vm)
    // Anything short of a store that can be seen means to make one.
    const store = await sizeIfPresent(places.variableStore).catch(() => undefined)
    const machine = { vcpus: spec.vcpus, memMb: spec.memMb, mac: macOf(vm.id), image }
    return vfkitArgv(this.#deps.program, { ...machine, createVariableStore: store === undefined }, places)
  }

  files(vm: VmLayout): VmmFiles {
    return vfkitPlaces(vm)
  }

  async shutdown(vm: VmLayout, options: StopOptions, signal: AbortSignal): Promise<void> {
    const process = await this.#find(vm)
    const stopping = process && { id: vm.id, process: process.identity, restSocket: vfkitPlaces(vm).restSocket }
    if (stopping) await stopVfkit(this.#deps, this.#client, stopping, options, signal)
    await this.#letGo(vm)
  }

  async destroy(vm: VmLayout): Promise<void> {
    await this.#stopRecording(vm.id)
    const process = await this.#find(vm)
    if (process) await killProcess(this.#deps, process.identity)
    await this.#letGo(vm)
  }

  async running(vm: VmLayout): Promise<RunningVm | undefined> {
    const process = await this.#find(vm)
    return process && this.#attend(vm, process)
  }

  async failureReason(vm: VmLayout): Promise<string> {
    return failureReasonOf((await readTail(vfkitPlaces(vm).log, LOG_TAIL_BYTES)).toString('utf8'))
  }

  complaint(vm: VmLayout): Complaint | undefined {
    const problem = this.#consoles.get(vm.id)?.line.problem ?? ''
    return problem === '' ? undefined : { code: 'console/unavailable', detail: problem, paused: false }
  }

  /** By the MAC, from the leases of the operating system. A file that cannot be read is no answer. */
  async address(vm: VmLayout): Promise<string> {
    try {
      const { leases } = this.#deps
      const length = Math.min((await sizeIfPresent(leases)) ?? 0, LEASE_FILE_LIMIT)
      const text = length === 0 ? '' : (await readRange(leases, 0, length)).toString('latin1')
      return leasedAddress(parseLeases(text), macOf(vm.id))
    } catch (error) {
      this.#deps.log.warn('vm.leases-unreadable', { file: this.#deps.leases, error: String(error) })
      return ''
    }
  }

  /** macOS owns the network; there are no named ones. */
  async networkAddress(): Promise<string> {
    return ''
  }

  onExit(fn: (vmId: string) => void): () => void {
    return this.#exits.onExit(fn)
  }

  async close(): Promise<void> {
    this.#exits.close()
    await Promise.all([...this.#consoles.keys()].map((vmId) => this.#stopRecording(vmId)))
  }

  #find(vm: VmLayout): Promise<VmmProcess | undefined> {
    const { processes, clock } = this.#deps
    return findProcess(vfkitPlaces(vm), processes, clock.now)
  }

  readonly #missing = (error: unknown): never => {
    const detail = `${this.#deps.program} is not installed`
    throw isAbsent(error) ? new Fault('vmm/missing', 'permanent', { detail }, { cause: error }) : error
  }

  async #spawn(vm: VmLayout, command: CommandPart[]): Promise<VmmProcess> {
    const { program, detach, processes, clock } = this.#deps
    const places = vfkitPlaces(vm)
    await this.#letGo(vm)
    await ensureDir('vfkit.socket-dir', places.socketDir)
    const argv = command.flatMap(({ args }) => args).slice(1)
    await noteStart(places, processes)
    const pid = await detach('vfkit.spawn', program, argv, { cwd: vm.dir, logFile: places.log }).catch(this.#missing)
    const identity = processes.identify(pid)
    if (!identity) throw await this.#startFailed(vm)
    const process = { identity, startedAt: new Date(clock.now()), acceleration: ACCELERATION, machine: MACHINE }
    await noteProcess(places, process)
    return process
  }

  async #untilAnswers(vm: VmLayout, process: VmmProcess, signal: AbortSignal): Promise<void> {
    const { processes, clock } = this.#deps
    const deadline = clock.monotonic() + START_MS
    while (processes.alive(process.identity)) {
      const answered = await this.#client.state(vfkitPlaces(vm).restSocket).then(
        () => true,
        () => false,
      )
      if (answered) return
      if (clock.monotonic() > deadline) {
        await killProcess(this.#deps, process.identity)
        throw new Fault('vm/start-failed', 'transient', { detail: 'vfkit does not answer on its socket' })
      }
      await clock.sleep(POLL_MS, signal)
    }
    throw await this.#startFailed(vm)
  }

  async #startFailed(vm: VmLayout): Promise<Fault> {
    return new Fault('vm/start-failed', 'transient', {
      detail: (await this.failureReason(vm)) || 'vfkit ended at once',
    })
  }

  /** Its end is watched for and its console recorded. Idempotent. */
  #attend(vm: VmLayout, process: VmmProcess): RunningVm {
    this.#exits.watch(vm.id, process.identity)
    const { recorder } = this.#record(vm)
    this.#deps.serial.ensure({ id: vm.id, logPath: vm.serialLog, connect: () => recorder.input() })
    return { acceleration: ACCELERATION, startedAt: process.startedAt, identity: process.identity }
  }

  #record(vm: VmLayout): Console {
    const known = this.#consoles.get(vm.id)
    if (known) return known
    const { clock, log, run, platform } = this.#deps
    const line = new SerialLine({ run, clock, platform, client: this.#client }, vfkitPlaces(vm).restSocket)
    const recorder = new SerialRecorder({
      vmId: vm.id,
      logPath: vm.serialLog,
      connect: () => line.open(),
      clock,
      log,
      onClosed: () => void this.#exits.check(vm.id),
    })
    this.#consoles.set(vm.id, { line, recorder })
    return { line, recorder }
  }

  async #stopRecording(vmId: string): Promise<void> {
    const console = this.#consoles.get(vmId)
    this.#consoles.delete(vmId)
    console?.line.close()
    await console?.recorder.stop()
  }

  /** Only what is gone is forgotten: the caller has proof of it. */
  async #letGo(vm: VmLayout): Promise<void> {
    const places = vfkitPlaces(vm)
    await this.#exits.check(vm.id)
    await this.#stopRecording(vm.id)
    this.#deps.serial.stop(vm.id)
    await forgetProcess(places)
    // vfkit removes it only when it ends in good order, and would not start on one that is left.
    await removeTree('vfkit.clear', places.restSocket)
  }
}
