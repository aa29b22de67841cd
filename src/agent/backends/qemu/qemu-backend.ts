import { basename } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { VmSpec } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { GiB, MiB } from '../../../ipc/units.ts'
import type { BootImage } from '../../images/image-cache.ts'
import { macOf } from '../../network/mac.ts'
import type { Detach, Run } from '../../os/exec.ts'
import { freeBytes, isAbsent, readTail } from '../../os/files.ts'
import type { Processes } from '../../os/process.ts'
import { connectUnix } from '../../os/unix-socket.ts'
import type { VmLayout } from '../../records/layout.ts'
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
import { growQcow2 } from '../grow-disk.ts'
import { SharedLook } from '../shared-look.ts'
import { findProcess, forgetProcess, noteProcess, noteStart, type VmmProcess } from '../vmm-process.ts'
import { qemuOptions } from './argv.ts'
import { endWords, failureReasonOf } from './failure-reason.ts'
import { createDisk } from './qemu-disk.ts'
import { type Ending, isClean } from './qemu-ending.ts'
import { forwardPort } from './qemu-forward.ts'
import { missingProgram, QEMU, QemuMachines } from './qemu-machines.ts'
import { QemuMonitor } from './qemu-monitor.ts'
import { stopQemu } from './qemu-stop.ts'
import { requireLog } from './serial-log.ts'

const POLL_MS = 50
/** A started QEMU answers on its monitor within this, busy host included. */
const START_MS = 30_000
const CONNECT_MS = 5_000
/** A process whose monitor closed is gone within this. */
const ENDING_MS = 5_000
const LOG_TAIL_BYTES = 16 * 1024
/** A process that ended has its last words read within this. */
const LAST_WORDS_MS = 1_000
/** A guest paused by a full disk goes on once this much is free. */
const CONTINUE_FREE_BYTES = 256 * MiB

export interface QemuDeps {
  run: Run
  detach: Detach
  processes: Processes
  clock: Clock
  log: Log
  serial: SerialPump
  /** What the probe saw run; '' = nothing. */
  acceleration(signal: AbortSignal): Promise<'kvm' | 'tcg' | ''>
}

interface Chosen {
  acceleration: 'kvm' | 'tcg'
  machine: string
}

/** QEMU as a detached process per VM, told apart by pid, start time and boot; nothing of it lives in the agent. */
export class QemuBackend implements Backend {
  readonly name = 'qemu'
  readonly capabilities: Capabilities = {
    suspend: false,
    shares: false,
    serialInput: true,
    nested: true,
    addressSource: 'none',
    survivesAgentRestart: true,
    liveForward: true,
  }
  readonly #deps: QemuDeps
  readonly #monitors = new Map<string, QemuMonitor>()
  /** How processes that this very agent started ended, in words. */
  readonly #ends = new Map<string, { words: string }>()
  readonly #forwards = new Map<string, Promise<void>>()
  readonly #listeners = new Set<(vmId: string) => void>()
  readonly #resumeListeners = new Set<(vmId: string) => void>()
  readonly #machines: QemuMachines
  readonly #imageTool = new SharedLook(() => this.#lookForImageTool())

  constructor(deps: QemuDeps) {
    this.#deps = deps
    this.#machines = new QemuMachines(deps.run)
  }

  async preflight(signal: AbortSignal): Promise<void> {
    await this.#machines.newest(signal)
    await this.#imageTool.get(signal)
    await this.#acceleration(signal)
  }

  async prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void> {
    await createDisk(this.#deps.run, image, vm.disk, spec.diskGb, signal)
  }

  async cloneRootDisk(request: CloneRequest, signal: AbortSignal): Promise<void> {
    const { vm, source, spec } = request
    const disks = { from: source.vm.disk, fromName: source.name, to: vm.disk, format: 'qcow2' } as const
    await cloneDisk(this.#deps.run, { ...request, ...disks, diskGb: spec.diskGb }, signal)
  }

  async growDisk(vm: VmLayout, diskGb: number, signal: AbortSignal): Promise<boolean> {
    const process = await this.#find(vm)
    if (process) await this.#monitor(vm, process).growDisk(diskGb * GiB)
    else await growQcow2(this.#deps.run, vm.disk, diskGb, signal)
    return true
  }

  async boot(request: BootRequest, signal: AbortSignal): Promise<Booted> {
    const { vm } = request
    const found = await this.#find(vm)
    if (found) return { ...found, machine: found.machine || request.machine }
    await requireLog(vm)
    const chosen = await this.#choose(request, signal)
    const process = await this.#spawn(vm, await this.#command(request, chosen), chosen)
    await this.#untilAnswers(vm, process, signal)
    this.#pump(vm)
    return { ...process, machine: chosen.machine }
  }

  async command(request: BootRequest, signal: AbortSignal): Promise<CommandPart[]> {
    return this.#command(request, await this.#choose(request, signal))
  }

  async shutdown(vm: VmLayout, options: StopOptions, signal: AbortSignal): Promise<void> {
    const process = await this.#find(vm)
    if (process) {
      await stopQemu(this.#deps, process.identity, this.#monitor(vm, process), options, signal)
    }
    await this.#letGo(vm)
  }

  async destroy(vm: VmLayout): Promise<void> {
    const process = await this.#find(vm)
    if (process) await killProcess(this.#deps, process.identity)
    await this.#letGo(vm)
  }

  async running(vm: VmLayout): Promise<RunningVm | undefined> {
    const process = await this.#find(vm)
    if (!process) {
      // It may have ended by itself: the viewers of its console are told.
      this.#deps.serial.stop(vm.id)
      return undefined
    }
    const monitor = this.#monitor(vm, process)
    void monitor.look(async () => (await freeBytes(vm.dir)) >= CONTINUE_FREE_BYTES)
    this.#pump(vm)
    const { acceleration, startedAt, identity } = process
    return { acceleration: monitor.acceleration || acceleration, startedAt, identity }
  }

  async failureReason(vm: VmLayout): Promise<string> {
    const ending = await this.#ending(vm)
    if (ending && ending.reason !== 'host-error') return ending.words
    const log = failureReasonOf((await readTail(vm.hypervisorLog, LOG_TAIL_BYTES)).toString('utf8'))
    return log || ending?.words || (this.#ends.get(vm.id)?.words ?? '')
  }

  endedCleanly(vm: VmLayout): boolean {
    return isClean(this.#monitors.get(vm.id)?.ending)
  }

  complaint(vm: VmLayout): Complaint | undefined {
    return this.#monitors.get(vm.id)?.complaint(this.#deps.clock.monotonic())
  }

  /** User-mode networking: the guest is 10.0.2.15 in a network of its own that nothing on the host can reach. */
  async address(): Promise<string> {
    return ''
  }
  async networkAddress(): Promise<string> {
    return ''
  }

  guestChannel(vm: VmLayout): Promise<Duplex> {
    return connectUnix(vm.dir, vm.guestSocketName, CONNECT_MS)
  }

  onResume(fn: (vmId: string) => void): () => void {
    this.#resumeListeners.add(fn)
    return () => this.#resumeListeners.delete(fn)
  }

  /** For one VM one after the other: two that ask for the same port get the same way. */
  async forward(vm: VmLayout, protocol: 'tcp' | 'udp', guestPort: number): Promise<number> {
    const before = this.#forwards.get(vm.id) ?? Promise.resolve()
    const work = before.then(async () => {
      const process = await this.#find(vm)
      if (!process) throw new Fault('vmm/failed', 'transient', { detail: 'the VM does not run' })
      const monitor = this.#monitor(vm, process)
      return await forwardPort((command) => monitor.human(command), protocol, guestPort)
    })
    const settled = work.then(
      () => {},
      () => {},
    )
    this.#forwards.set(vm.id, settled)
    void settled.then(() => this.#forwards.get(vm.id) === settled && this.#forwards.delete(vm.id))
    return await work
  }

  onExit(fn: (vmId: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  async close(): Promise<void> {
    for (const monitor of this.#monitors.values()) monitor.close()
  }

  async #lookForImageTool(): Promise<void> {
    try {
      await this.#deps.run('vmm.ask-tool', 'qemu-img', ['--version'], { timeoutMs: 10_000 })
    } catch (error) {
      throw isAbsent(error) ? missingProgram('qemu-img', error) : error
    }
  }

  #find(vm: VmLayout): Promise<VmmProcess | undefined> {
    return findProcess(vm, this.#deps.processes, this.#deps.clock.now)
  }

  async #acceleration(signal: AbortSignal): Promise<'kvm' | 'tcg'> {
    const acceleration = await this.#deps.acceleration(signal)
    if (acceleration === '') throw new Fault('vmm/failed', 'transient', { detail: 'QEMU cannot run a guest here' })
    return acceleration
  }

  /** What a boot decides anew each time. */
  async #choose({ machine }: BootRequest, signal: AbortSignal): Promise<Chosen> {
    const acceleration = await this.#acceleration(signal)
    const kept = machine === '' ? this.#machines.newest(signal) : this.#machines.pinned(machine, signal)
    return { acceleration, machine: await kept }
  }

  #command({ vm, spec, image, nics = [{ mac: macOf(vm.id) }] }: BootRequest, chosen: Chosen): CommandPart[] {
    const options = qemuOptions(
      {
        vmId: vm.id,
        ...chosen,
        vcpus: spec.vcpus,
        memMb: spec.memMb,
        clockPolicy: clockPolicyOf(spec.clockPolicy),
        nics,
        image,
      },
      {
        pidfile: basename(vm.pidfile),
        qmpSocketName: vm.qmpSocketName,
        serialSocketName: vm.serialSocketName,
        guestSocketName: vm.guestSocketName,
        serialLog: basename(vm.serialLog),
        disk: basename(vm.disk),
        seed: basename(vm.seed),
      },
    )
    return [{ args: [QEMU], why: 'the hypervisor, started in the directory of the VM' }, ...options]
  }

  async #spawn(vm: VmLayout, command: CommandPart[], { acceleration, machine }: Chosen): Promise<VmmProcess> {
    const argv = command.slice(1).flatMap(({ args }) => args)
    await forgetProcess(vm)
    this.#forgetMonitor(vm.id)
    await noteStart(vm, this.#deps.processes)
    const end = { words: '' }
    this.#ends.set(vm.id, end)
    const place = {
      cwd: vm.dir,
      logFile: vm.hypervisorLog,
      onEnd: (code: number | null, signal: NodeJS.Signals | null) => {
        end.words = endWords(code, signal)
      },
    }
    const pid = await this.#deps.detach('vmm.spawn', QEMU, argv, place).catch((error) => {
      throw isAbsent(error) ? missingProgram(QEMU, error) : error
    })
    const identity = this.#deps.processes.identify(pid)
    if (!identity) throw await this.#startFailed(vm)
    const process = { identity, startedAt: new Date(this.#deps.clock.now()), acceleration, machine }
    await noteProcess(vm, process)
    return process
  }

  async #untilAnswers(vm: VmLayout, process: VmmProcess, signal: AbortSignal): Promise<void> {
    const { processes, clock } = this.#deps
    const deadline = clock.monotonic() + START_MS
    const monitor = this.#monitor(vm, process)
    while (processes.alive(process.identity)) {
      const answered = await monitor.attach().then(
        () => true,
        () => false,
      )
      if (answered) return
      if (clock.monotonic() > deadline) {
        await killProcess(this.#deps, process.identity)
        throw new Fault('vm/start-failed', 'transient', { detail: 'QEMU does not answer on its monitor' })
      }
      await clock.sleep(POLL_MS, signal)
    }
    throw await this.#startFailed(vm)
  }

  async #startFailed(vm: VmLayout): Promise<Fault> {
    return new Fault('vm/start-failed', 'transient', { detail: (await this.failureReason(vm)) || 'QEMU ended at once' })
  }

  #monitor(vm: VmLayout, process: VmmProcess): QemuMonitor {
    const known = this.#monitors.get(vm.id)
    if (known?.pid === process.identity.pid) return known
    known?.close()
    const monitor = new QemuMonitor({
      vmId: vm.id,
      pid: process.identity.pid,
      clock: this.#deps.clock,
      connect: () => connectUnix(vm.dir, vm.qmpSocketName, CONNECT_MS),
      onClosed: (broken) => void this.#monitorClosed(vm, process, broken),
      onResume: () => {
        for (const fn of this.#resumeListeners) fn(vm.id)
      },
    })
    this.#monitors.set(vm.id, monitor)
    return monitor
  }

  /** Its process ended, which is told; or lives, and its monitor is opened anew. */
  async #monitorClosed(vm: VmLayout, process: VmmProcess, broken: string): Promise<void> {
    if (broken !== '') this.#deps.log.warn('vm.monitor-broken', { vm: vm.id, broken })
    if (await isGone(this.#deps, process.identity, ENDING_MS)) {
      for (const fn of this.#listeners) fn(vm.id)
      return
    }
    const monitor = this.#monitors.get(vm.id)
    if (monitor?.pid === process.identity.pid) await monitor.attach().catch(() => {})
  }

  async #ending(vm: VmLayout): Promise<Ending | undefined> {
    const monitor = this.#monitors.get(vm.id)
    const late = new AbortController()
    await Promise.race([monitor?.drained(), this.#deps.clock.sleep(LAST_WORDS_MS, late.signal).catch(() => {})])
    late.abort()
    return monitor?.ending
  }

  #pump(vm: VmLayout): void {
    this.#deps.serial.ensure({
      id: vm.id,
      logPath: vm.serialLog,
      connect: () => connectUnix(vm.dir, vm.serialSocketName, CONNECT_MS),
    })
  }

  #forgetMonitor(vmId: string): void {
    this.#monitors.get(vmId)?.close()
    this.#monitors.delete(vmId)
  }

  async #letGo(vm: VmLayout): Promise<void> {
    this.#ends.delete(vm.id)
    this.#forgetMonitor(vm.id)
    this.#deps.serial.stop(vm.id)
    await forgetProcess(vm)
  }
}
