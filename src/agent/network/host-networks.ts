import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { NetworkStatusSchema } from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { Detach, Run } from '../os/exec.ts'
import { readIfPresent } from '../os/files.ts'
import type { Processes } from '../os/process.ts'
import { parseHosts, type Reservation } from './dnsmasq-config.ts'
import { freeAddress, isGuestAddress } from './guest-addresses.ts'
import { GUEST_BRIDGE } from './guest-network.ts'
import { macOf } from './mac.ts'
import { ManagedNetwork } from './managed-network.ts'
import { USER_MODE_LIMITS, userModeBecause } from './network-choice.ts'
import type { Ownership } from './network-owner.ts'
import type { Sysctl } from './sysctl.ts'
import { type Taps, tapName } from './tap.ts'
import type { KnownVm, NetworkedVm, Nic, VmNetwork } from './vm-network.ts'

/** A bridge that could not be made is tried again after this, ms: guests of an earlier life may be on it. */
const AGAIN_MS = 30_000

export type NetworkStatusInit = MessageInitShape<typeof NetworkStatusSchema>

/** Networks of the operator as second NICs. `attach` and `look` are asked only for a VM that names one. */
export interface OperatorNets {
  start(vms: readonly KnownVm[]): Promise<void>
  serves(network: string): boolean
  /** Raises `vm/network-unknown` before anything is made. */
  attach(vm: NetworkedVm, signal: AbortSignal): Promise<Nic>
  look(vm: NetworkedVm): Nic
  /** Idempotent, also for a VM without one. */
  detach(vmId: string): Promise<void>
  networkAddress(vmId: string): string
  status(): NetworkStatusInit[]
  notices(): string[]
  close(): Promise<void>
}

export interface HostNetworksDeps {
  platform: NodeJS.Platform
  stateDir: string
  ownership: Ownership
  /** '' = none is settled yet. */
  cidr(): string
  taps: Taps
  /** Absent = there are none. */
  operator?: OperatorNets | undefined
  run: Run
  detach: Detach
  processes: Processes
  sysctl: Sysctl
  /** Whether this host has an interface of the name. */
  hasDevice(name: string): boolean
  clock: Clock
  log: Log
}

interface Known {
  name: string
  /** On the guests' own network; '' = none. */
  ip: string
}

/** The guests' own network on this host, by a bridge where that can be and else inside each hypervisor, and the operator's beside it. */
export class HostNetworks implements VmNetwork {
  readonly #deps: HostNetworksDeps
  readonly #known = new Map<string, Known>()
  /** VMs that have a tap on the bridge. */
  readonly #bridged = new Set<string>()
  #managed: ManagedNetwork | undefined
  /** Why there is no bridge, one sentence. */
  #because = ''
  /** A bridge was to be made and could not: otherwise nothing is wrong with having none. */
  #isMissed = false
  #settling: Promise<void> = Promise.resolve()
  #again: Promise<void> | undefined
  readonly #closing = new AbortController()

  constructor(deps: HostNetworksDeps) {
    this.#deps = deps
  }

  /** Guests have addresses that are fixed before they boot. */
  get reserves(): boolean {
    return this.#managed !== undefined
  }

  /** The host's network is this agent's to change. */
  get owns(): boolean {
    return this.#deps.ownership.owns
  }

  async start(vms: readonly KnownVm[]): Promise<void> {
    for (const { vmId, name, ip } of vms) this.#known.set(vmId, { name, ip })
    await this.#deps.operator?.start(vms)
    await this.settle()
  }

  /** Makes the bridge once there is a network for it; guests that run without go on so until their next boot. Never raises. */
  settle(): Promise<void> {
    this.#settling = this.#settling.then(() => this.#settle())
    return this.#settling
  }

  async attach(vm: NetworkedVm, signal: AbortSignal): Promise<Nic[]> {
    this.#requireServed(vm)
    const nics = [await this.#attachOwn(vm, signal)]
    if (vm.network !== '') nics.push(await this.#deps.operator!.attach(vm, signal))
    return nics
  }

  look(vm: NetworkedVm): Nic[] {
    this.#requireServed(vm)
    const own = this.#managed ? { mac: macOf(vm.vmId), tap: tapName(vm.vmId) } : { mac: macOf(vm.vmId) }
    return vm.network === '' ? [own] : [own, this.#deps.operator!.look(vm)]
  }

  async detach(vmId: string): Promise<void> {
    const { ownership, taps, operator } = this.#deps
    if (ownership.owns) {
      await taps.remove(tapName(vmId))
      await operator?.detach(vmId)
    }
    const before = this.#known.get(vmId)
    this.#known.delete(vmId)
    this.#bridged.delete(vmId)
    if (before?.ip) await this.#managed?.serve(this.#reservations())
  }

  /** Of a guest that was booted onto the bridge: one in user mode has none, whatever is reserved for it. */
  address(vmId: string): string {
    return this.#managed && this.#bridged.has(vmId) ? (this.#known.get(vmId)?.ip ?? '') : ''
  }

  networkAddress(vmId: string): string {
    return this.#deps.operator?.networkAddress(vmId) ?? ''
  }

  /** One row a network, the guests' own first. */
  status(): NetworkStatusInit[] {
    return [this.#ownStatus(), ...(this.#deps.operator?.status() ?? [])]
  }

  notices(): string[] {
    const { ownership, operator } = this.#deps
    const told = this.#because !== '' && ownership.asked === 'auto' && this.#deps.cidr() !== ''
    return [
      ...(told ? [`${this.#because} ${USER_MODE_LIMITS}`] : []),
      ...(this.#managed?.trouble ? [this.#managed.trouble] : []),
      ...(operator?.notices() ?? []),
    ]
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#settling
    await this.#managed?.close()
    await this.#deps.operator?.close()
    await this.#deps.ownership.release()
  }

  async #settle(): Promise<void> {
    const { platform, ownership, cidr, log } = this.#deps
    if (this.#managed || platform !== 'linux' || this.#closing.signal.aborted) return
    const before = this.#because
    const missing = await ownership.missing()
    this.#because = userModeBecause({ ...ownership.facts, missing, cidr: cidr() })
    this.#isMissed = false
    if (this.#because !== '') return log.info('network.user-mode', { because: this.#because })
    const managed = new ManagedNetwork({ ...this.#deps, place: ownership.place!, cidr: cidr() })
    await this.#recall(managed.cidr)
    try {
      await managed.start(this.#reservations())
      this.#managed = managed
      log.info('network.managed', { bridge: GUEST_BRIDGE, cidr: managed.cidr })
    } catch (error) {
      const { message, params } = asFault(error)
      this.#because = `The bridge of the guests could not be made (${params['detail'] ?? message}).`
      this.#isMissed = true
      if (this.#because !== before) log.warn('network.not-made', { error: message })
      await managed.close()
      this.#again ??= this.#tryAgain()
    }
  }

  async #tryAgain(): Promise<void> {
    await this.#deps.clock.sleep(AGAIN_MS, this.#closing.signal).catch(() => {})
    this.#again = undefined
    void this.settle()
  }

  /** Addresses that no guest here can have, or that two would, are nobody's; what an earlier life served and no record has yet is remembered. */
  async #recall(cidr: string): Promise<void> {
    const { ownership, log } = this.#deps
    const text = (await readIfPresent(ownership.place!.hosts).catch(() => undefined))?.toString('utf8') ?? ''
    const served = new Map(parseHosts(text).map((reservation) => [reservation.mac, reservation]))
    const taken = new Set<string>()
    const keep = (vmId: string, known: Known) => {
      const isFree = isGuestAddress(cidr, known.ip) && !taken.has(known.ip)
      if (!isFree && known.ip !== '') log.warn('network.address-dropped', { vm: vmId, ip: known.ip })
      if (isFree) taken.add(known.ip)
      this.#known.set(vmId, { ...known, ip: isFree ? known.ip : '' })
    }
    const all = [...this.#known]
    for (const [vmId] of all) if (this.#deps.hasDevice(tapName(vmId))) this.#bridged.add(vmId)
    for (const [vmId, known] of all) if (known.ip !== '') keep(vmId, known)
    for (const [vmId, known] of all) {
      const last = served.get(macOf(vmId))
      if (known.ip === '' && last) keep(vmId, { name: known.name || last.name, ip: last.ip })
    }
  }

  async #attachOwn({ vmId, name }: NetworkedVm, signal: AbortSignal): Promise<Nic> {
    const mac = macOf(vmId)
    const managed = this.#managed
    const before = this.#known.get(vmId)
    if (!managed) {
      this.#known.set(vmId, { name, ip: before?.ip ?? '' })
      return { mac }
    }
    const ip = before?.ip || this.#nextAddress(managed.cidr)
    this.#known.set(vmId, { name, ip })
    const tap = tapName(vmId)
    await this.#deps.taps.ensure(tap, signal, GUEST_BRIDGE)
    this.#bridged.add(vmId)
    await managed.serve(this.#reservations())
    return { mac, tap }
  }

  #nextAddress(cidr: string): string {
    const taken = new Set([...this.#known.values()].map(({ ip }) => ip))
    const ip = freeAddress(cidr, taken)
    if (ip === '') throw new Fault('vm/network-full', 'permanent', { host: 'This host', network: cidr })
    return ip
  }

  #reservations(): Map<string, Reservation> {
    const held = [...this.#known].filter(([, { ip }]) => ip !== '')
    return new Map(held.map(([vmId, { name, ip }]) => [vmId, { mac: macOf(vmId), ip, name }]))
  }

  #requireServed({ network }: NetworkedVm): void {
    if (network === '' || this.#deps.operator?.serves(network)) return
    throw new Fault('vm/network-unknown', 'permanent', { host: 'This host', network: network.slice(0, 80) })
  }

  #ownStatus(): NetworkStatusInit {
    const { platform } = this.#deps
    const vms = [...this.#known]
    if (platform !== 'linux') return { name: 'guests', kind: 'system', state: 'ready' }
    if (!this.#managed) {
      const addresses = vms.map(([vmId]) => ({ vmId, mac: macOf(vmId) }))
      const detail = `${this.#because} ${USER_MODE_LIMITS}`.trim()
      return { name: 'guests', kind: 'user', state: this.#isMissed ? 'degraded' : 'ready', detail, addresses }
    }
    const { cidr, gateway, trouble } = this.#managed
    return {
      name: 'guests',
      kind: 'nat',
      bridge: GUEST_BRIDGE,
      cidr,
      gateway,
      state: trouble === '' ? 'ready' : 'degraded',
      detail: trouble,
      addresses: vms.map(([vmId, { ip }]) => ({ vmId, mac: macOf(vmId), ip, source: ip === '' ? '' : 'reservation' })),
    }
  }
}
