import type { Duplex } from 'node:stream'
import type { FaultCode } from '../../ipc/faults.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { BootImage } from '../images/image-cache.ts'
import type { Nic } from '../network/vm-network.ts'
import type { ProcessIdentity } from '../os/process.ts'
import type { VmLayout } from '../records/layout.ts'
import type { VmmFiles } from './vmm-process.ts'

/** What a backend can do on this host, so that nobody finds out by trying. It never changes while the agent runs. */
export interface Capabilities {
  /** A guest's memory can be saved and later resumed. */
  suspend: boolean
  /** Directories of the host can be shared into a guest. */
  shares: boolean
  /** A person can type on the serial console; without it the console is for reading. */
  serialInput: boolean
  /** Guests may run VMs of their own where the host's CPU and kernel allow it. */
  nested: boolean
  /** Where `address` comes from: nobody knows one; fixed before boot; learned from the host's DHCP leases after it. */
  addressSource: 'none' | 'reservation' | 'leases'
  /** Guests run on without the agent, and a later agent finds them. */
  survivesAgentRestart: boolean
  /** Ports can be forwarded into a running guest. */
  liveForward: boolean
}

/** A hypervisor process that runs one VM now. */
export interface RunningVm {
  /** "kvm", "tcg" or "vz". */
  acceleration: string
  startedAt: Date
  /** Whose CPU time and memory are the VM's. Absent = the backend has no one process to name. */
  identity?: ProcessIdentity
}

export interface BootRequest {
  vm: VmLayout
  spec: VmSpec
  image: BootImage
  /** Versioned machine type of an earlier boot, kept so that the guest sees the same hardware; '' = choose. */
  machine: string
  /** The fleet's own first. Absent = that one alone, by user-mode translation. */
  nics?: readonly Nic[]
}

export interface Booted extends RunningVm {
  machine: string
}

/** One option of a hypervisor's command line and what it is for: both are written in one place. */
export interface CommandPart {
  args: string[]
  why: string
}

/** Trouble of a guest whose process lives. Nobody ends it for that. */
export interface Complaint {
  code: FaultCode
  /** More than the code says; '' = nothing. */
  detail: string
  /** The guest executes nothing now. */
  paused: boolean
}

/** A VM's first disk made from another's, to which nothing writes meanwhile. */
export interface CloneRequest {
  vm: VmLayout
  spec: VmSpec
  image: BootImage
  source: { vm: VmLayout; name: string }
  /** Bytes copied so far of all; never called where blocks are shared. */
  progress(doneBytes: number, totalBytes: number): void
  /** Asked before bytes are copied; rejects when there is no room. */
  requireRoom(bytes: number): Promise<void>
}

export interface StopOptions {
  /** How long the guest may take to power itself off, ms. 0 = do not ask it. */
  graceMs: number
  /** Aborts the wait for the guest, not the stop. */
  hurry: AbortSignal
}

/**
 * What runs guests on this host. Every method may be repeated; concurrent calls for different VMs are fine, calls for
 * one VM come from its one worker. Faults carry the disposition: a permanent one ends a create at once.
 */
export interface Backend {
  readonly name: string
  readonly capabilities: Capabilities
  /** Whether this host can run guests at all, asked before anything costly. Raises `vmm/missing` (permanent). */
  preflight(signal: AbortSignal): Promise<void>
  /** The guest's first disk, whole or not there. Never shrinks an image: `image/too-big-for-disk` (permanent). */
  prepareRootDisk(vm: VmLayout, spec: VmSpec, image: BootImage, signal: AbortSignal): Promise<void>
  /**
   * The guest's first disk from another VM's, whole or not there, sharing blocks where the filesystem can. Raises
   * `image/too-big-for-disk` (permanent). Absent = this backend cannot.
   */
  cloneRootDisk?(request: CloneRequest, signal: AbortSignal): Promise<void>
  /**
   * Makes the disk at least so large, now or, where a running guest's cannot be, not yet (false). Never shrinks.
   * Idempotent. Absent = this backend cannot.
   */
  growDisk?(vm: VmLayout, diskGb: number, signal: AbortSignal): Promise<boolean>
  /** Starts the process and returns once it answers; does not wait for the guest. A running VM is left as it is. */
  boot(request: BootRequest, signal: AbortSignal): Promise<Booted>
  /** Asks the guest, then ends the process. Resolves when it is gone; raises `vm/stop-failed`. */
  shutdown(vm: VmLayout, options: StopOptions, signal: AbortSignal): Promise<void>
  /** Ends the process at once and frees all the VM holds on the host outside its directory; resolving promises that. */
  destroy(vm: VmLayout): Promise<void>
  /** Undefined = no process of this VM runs. Finds again what an earlier agent started. */
  running(vm: VmLayout): Promise<RunningVm | undefined>
  /** Why a VM that should run does not, from the hypervisor's own output. Empty = nothing to add, not "nothing wrong". */
  failureReason(vm: VmLayout): Promise<string>
  /** True when the guest itself powered off the last time it ended; false or absent = it did not, or nobody knows. */
  endedCleanly?(vm: VmLayout): boolean
  /** Trouble of a running guest that a person should see, from memory. Undefined = nothing to say. */
  complaint(vm: VmLayout): Complaint | undefined
  /** Where the process of the VM is noted; absent = where the layout says. */
  files?(vm: VmLayout): VmmFiles
  /** The command line a boot would use now, program first; starts and writes nothing. Faults as of boot. */
  command?(request: BootRequest, signal: AbortSignal): Promise<CommandPart[]>
  /** Address a client on the host can reach. Empty = no answer; it never clears a known one. */
  address(vm: VmLayout): Promise<string>
  /** Address on the operator network. Empty = not known yet, never unreachable. */
  networkAddress(vm: VmLayout): Promise<string>
  /**
   * The channel of the guest agent (virtio-serial `org.qemu.guest_agent.0`); one client at a time, the caller ends the
   * stream. It opens whether or not anything in the guest listens. Absent = this backend has none.
   */
  guestChannel?(vm: VmLayout): Promise<Duplex>
  /** Called when a guest that stood still goes on (its clock did not); returns its stop function. Absent = nobody tells. */
  onResume?(fn: (vmId: string) => void): () => void
  /**
   * Opens a way from this host's loopback to a port of a guest in user-mode networking; resolves with the loopback port.
   * Idempotent while the guest runs; ways end with it. Absent or `liveForward` false = it cannot.
   */
  forward?(vm: VmLayout, protocol: 'tcp' | 'udp', guestPort: number): Promise<number>
  /** Called when a VM's process ended, whoever ended it; returns its stop function. */
  onExit(fn: (vmId: string) => void): () => void
  /** Lets go of all processes, which run on. */
  close(): Promise<void>
}

export interface SerialTarget {
  id: string
  /** The hypervisor appends everything the guest writes. */
  logPath: string
  /** The guest's input. One client at a time; the caller ends or destroys the stream. */
  connect(): Promise<Duplex>
}

/** Who records and feeds serial consoles. A pump lives as long as the guest is powered on. */
export interface SerialPump {
  /** Idempotent while the same guest runs. */
  ensure(vm: SerialTarget): void
  stop(vmId: string): void
  /** The VM is destroyed. */
  forget(vmId: string): void
}

export const noSerialPump: SerialPump = { ensure() {}, stop() {}, forget() {} }
