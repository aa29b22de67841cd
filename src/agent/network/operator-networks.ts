import { statSync } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { basename, join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { Fault } from '../../ipc/faults.ts'
import type { NetworkStatusSchema } from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { Run } from '../os/exec.ts'
import { BridgeGuard } from './bridge-guard.ts'
import { type HostNetwork, isBridge, SYS_CLASS_NET } from './host-bridges.ts'
import { type Attachment, type Guard, LanAddresses } from './lan-addresses.ts'
import { macOf } from './mac.ts'
import { tapName } from './tap.ts'
import type { KnownVm, NetworkedVm, Nic } from './vm-network.ts'

/** The NIC of the guest that is on the operator's network. */
const NIC = 1
/** VMs named in one sentence. */
const NAMED = 5

export interface OperatorNetworksDeps {
  networks: readonly HostNetwork[]
  taps: {
    ensure(name: string, signal: AbortSignal, bridge: string): Promise<void>
    remove(name: string): Promise<void>
  }
  guard: Guard
  clock: Clock
  log: Log
  /** A VM got an address, or another one. */
  onAddress?(vmId: string): void
  sysClassNet?: string
}

type Status = MessageInitShape<typeof NetworkStatusSchema>

/** Bridges of the host's operator that VMs may have a second NIC on. It makes and removes none of them. */
export class OperatorNetworks {
  readonly #deps: OperatorNetworksDeps
  readonly #sys: string
  readonly #lan: LanAddresses
  readonly #bridges: ReadonlyMap<string, string>
  /** Bridges of networks this agent does not serve, as taps of an earlier one have them. */
  readonly #former = new Map<string, string>()

  constructor(deps: OperatorNetworksDeps) {
    const { networks, guard, clock, log, onAddress = () => {} } = deps
    this.#deps = deps
    this.#sys = deps.sysClassNet ?? SYS_CLASS_NET
    this.#bridges = new Map(networks.map(({ name, bridge }) => [name, bridge]))
    this.#lan = new LanAddresses({ guard, always: networks.length > 0, clock, log, onAddress })
  }

  /**
   * Takes up what VMs had before, served or not, and programs the guard; without networks and VMs on them there is none
   * afterwards. Raises nothing.
   */
  async start(vms: readonly KnownVm[]): Promise<void> {
    for (const vm of vms) if (vm.network !== '') await this.#adopt(vm)
    await this.#lan.start()
  }

  serves(network: string): boolean {
    return this.#bridges.has(network)
  }

  /**
   * The tap is up on the bridge and its address is learned when it resolves. Idempotent, and what is known of the VM
   * stays. Raises `vm/network-unknown` (permanent) before anything is made, and `vm/network-failed`.
   */
  async attach(vm: NetworkedVm, signal: AbortSignal): Promise<Nic> {
    const bridge = this.#bridgeOf(vm)
    const nic = this.look(vm)
    const attachment = this.#lan.keep({ ...nic, vmId: vm.vmId, vmName: vm.name, network: vm.network })
    await this.#lan.arm(attachment)
    if (this.#lan.of(vm.vmId) === attachment) await this.#deps.taps.ensure(nic.tap, signal, bridge)
    if (this.#lan.of(vm.vmId) !== attachment) await this.#deps.taps.remove(nic.tap)
    return nic
  }

  /** What `attach` would give; changes nothing. */
  look({ vmId }: Pick<NetworkedVm, 'vmId'>): Required<Nic> {
    return { mac: macOf(vmId, NIC), tap: tapName(vmId, NIC) }
  }

  /** Nothing of the VM is left on a network of the operator when it resolves. Idempotent. */
  async detach(vmId: string): Promise<void> {
    const { tap } = this.look({ vmId })
    const dropped = this.#lan.drop(vmId)
    if (this.#has(tap)) await this.#deps.taps.remove(tap)
    await dropped
  }

  /** '' = not known yet. */
  networkAddress(vmId: string): string {
    return this.#lan.of(vmId)?.ip ?? ''
  }

  /** One row for each network that is served, or that VMs are on all the same. */
  status(): Status[] {
    const byNetwork = Map.groupBy(this.#lan.all(), ({ network }) => network)
    const names = new Set([...this.#bridges.keys(), ...byNetwork.keys()])
    return [...names].map((name) => this.#statusOf(name, byNetwork.get(name) ?? []))
  }

  /** What a person should know, one sentence each. */
  notices(): string[] {
    const drifted = Map.groupBy(
      this.#lan.all().filter(({ network }) => !this.serves(network)),
      ({ network }) => network,
    )
    const needed = this.#bridges.size > 0 || this.#lan.all().length > 0
    return [
      ...[...drifted].map(([network, vms]) => driftNotice(network, vms)),
      ...(needed && this.#lan.problem !== '' ? [guardNotice(this.#lan.problem)] : []),
      ...this.#lan.rogues().map((vm) => rogueNotice(vm, this.#lan.dropped)),
    ]
  }

  /** Lets go; taps and guard stay. */
  async close(): Promise<void> {
    await this.#lan.close()
  }

  async #adopt({ vmId, name, network, networkIp }: KnownVm): Promise<void> {
    const nic = this.look({ vmId })
    const there = this.#has(nic.tap)
    this.#lan.adopt({ ...nic, vmId, vmName: name, network, ip: networkIp }, there)
    if (this.serves(network)) return
    this.#deps.log.warn('network.no-longer-served', { vm: vmId, network })
    const master = await readlink(join(this.#sys, nic.tap, 'master')).catch(() => '')
    if (master !== '') this.#former.set(network, basename(master))
  }

  #bridgeOf({ name: vm, network }: NetworkedVm): string {
    const bridge = this.#bridges.get(network)
    if (bridge === undefined) throw new Fault('vm/network-unknown', 'permanent', { vm, network })
    if (!isBridge(bridge, this.#sys))
      throw new Fault('vm/network-failed', 'transient', {
        vm,
        network,
        detail: `there is no bridge ${bridge} any more`,
      })
    return bridge
  }

  #has(device: string): boolean {
    return statSync(join(this.#sys, device), { throwIfNoEntry: false }) !== undefined
  }

  #statusOf(name: string, attachments: readonly Attachment[]): Status {
    const served = this.#bridges.get(name)
    const bridge = served ?? this.#former.get(name) ?? ''
    return {
      name,
      kind: 'operator',
      bridge,
      gateway: networkInterfaces()[bridge]?.find(({ family }) => family === 'IPv4')?.address ?? '',
      ...this.#stateOf(served, bridge),
      addresses: attachments.map(({ vmId, mac, ip, seenAt }) => ({
        vmId,
        mac,
        ip,
        source: ip === '' ? '' : 'dhcp',
        ...(seenAt === undefined ? {} : { seenAt: timestampFromMs(seenAt) }),
      })),
    }
  }

  #stateOf(served: string | undefined, bridge: string): { state: string; detail: string } {
    if (bridge === '' || !isBridge(bridge, this.#sys))
      return {
        state: 'down',
        detail: bridge === '' ? NOT_SERVED : `There is no bridge ${bridge} on this host any more.`,
      }
    if (served === undefined) return { state: 'degraded', detail: NOT_SERVED }
    if (this.#lan.problem !== '') return { state: 'degraded', detail: guardNotice(this.#lan.problem) }
    return { state: 'ready', detail: '' }
  }
}

/**
 * For an agent that owns the network of its host; undefined for one that does not. Raises `input/invalid` (permanent) when
 * that one was given networks.
 */
export function openOperatorNetworks(
  deps: Omit<OperatorNetworksDeps, 'guard' | 'sysClassNet'> & { run: Run },
  ownership: { owns: boolean; because: string },
): OperatorNetworks | undefined {
  const [first] = deps.networks
  if (ownership.owns) return new OperatorNetworks({ ...deps, guard: new BridgeGuard(deps.run) })
  if (first === undefined) return undefined
  const problem = `it needs the network of the host: ${ownership.because.replace(/\.$/, '')}`
  throw new Fault('input/invalid', 'permanent', {
    field: '--host-network',
    value: `${first.name}=${first.bridge}`,
    problem,
  })
}

const NOT_SERVED = 'The agent was started without this network (--host-network): no VM is started on it.'

function driftNotice(network: string, vms: readonly Attachment[]): string {
  const names = vms.slice(0, NAMED).map(({ vmName }) => vmName)
  const more = vms.length > NAMED ? ` and ${vms.length - NAMED} more` : ''
  return `The agent no longer serves the network ${network} (--host-network), on which ${names.join(', ')}${more} ${vms.length === 1 ? 'is' : 'are'}: what runs goes on and keeps its address, a next start is refused.`
}

const guardNotice = (problem: string): string =>
  `DHCP servers in guests cannot be kept from the operator's networks now (${problem}): no VM is started on them until they can.`

const rogueNotice = ({ vmName, network }: Attachment, dropped: number): string =>
  `${vmName} answers as a DHCP server on the network ${network}: its answers are dropped (${dropped} so far on this host).`
