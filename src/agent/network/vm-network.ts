/** One NIC as a hypervisor needs it. */
export interface Nic {
  mac: string
  /** The host's end of it, made and up; absent = the hypervisor translates for the guest itself (user-mode). */
  tap?: string
}

/** What of a VM its network is made from. */
export interface NetworkedVm {
  vmId: string
  /** Its name in the guests' DNS. */
  name: string
  /** Operator network of a second NIC; '' = none. */
  network: string
}

/** A VM of an earlier life of the agent, as its record has it. */
export interface KnownVm extends NetworkedVm {
  /** '' = none. */
  ip: string
  networkIp: string
}

/** What gives the VMs of this host their NICs and addresses. Calls for one VM come from its one worker. */
export interface VmNetwork {
  /** Replays reservations and adopts taps of `vms` before anything is served; raises nothing that a VM could be lost over. */
  start(vms: readonly KnownVm[]): Promise<void>
  /**
   * The NICs of a VM about to boot, the fleet's own first: taps are up and its address is reserved when it resolves.
   * Idempotent. Raises `vm/network-unknown` (permanent) before anything is made.
   */
  attach(vm: NetworkedVm, signal: AbortSignal): Promise<Nic[]>
  /** What `attach` would give; changes nothing. */
  look(vm: NetworkedVm): Nic[]
  /** Taps, reservation and all that watches them are gone when it resolves. Idempotent. */
  detach(vmId: string): Promise<void>
  /** On the fleet's own network. '' = no answer; it never clears a known one. */
  address(vmId: string): string
  /** On the operator network. '' = not known yet, never unreachable. */
  networkAddress(vmId: string): string
  /** What a person should know, one sentence each. */
  notices(): string[]
  /** Lets go; what guests need stays. */
  close(): Promise<void>
}
