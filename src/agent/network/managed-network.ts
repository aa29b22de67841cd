import { fullJitterMs } from '../../ipc/base/backoff.ts'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { Detach, Run } from '../os/exec.ts'
import type { Processes } from '../os/process.ts'
import { Dnsmasq } from './dnsmasq.ts'
import { dnsmasqConfig, type Reservation } from './dnsmasq-config.ts'
import { gatewayOf } from './guest-addresses.ts'
import { GuestBridge } from './guest-bridge.ts'
import { GUARD_TABLE, guestGuardRuleset } from './guest-guard.ts'
import { GUEST_BRIDGE } from './guest-network.ts'
import { NAT_TABLE, natRuleset } from './nat-ruleset.ts'
import { readNote, writeNote } from './network-note.ts'
import type { NetworkPlace } from './network-place.ts'
import { NftTable } from './nft-table.ts'
import type { Sysctl } from './sysctl.ts'
import { tapName } from './tap.ts'

/** What others take away, a firewall's reload or a person, is back within this, ms. */
const CHECK_MS = 5_000
export const FORWARDING = 'net.ipv4.ip_forward'

export interface ManagedDeps {
  place: NetworkPlace
  stateDir: string
  cidr: string
  run: Run
  detach: Detach
  processes: Processes
  sysctl: Sysctl
  clock: Clock
  log: Log
}

/** The guests' own network: bridge, address, forwarding, NAT and dnsmasq. One change at a time; all of them may be repeated. */
export class ManagedNetwork {
  readonly cidr: string
  readonly gateway: string
  readonly #deps: ManagedDeps
  readonly #bridge: GuestBridge
  readonly #rules: NftTable
  readonly #guard: NftTable
  readonly #dnsmasq: Dnsmasq
  #reservations: ReadonlyMap<string, Reservation> = new Map()
  #turn: Promise<unknown> = Promise.resolve()
  readonly #closing = new AbortController()
  #failures = 0
  #isUnguarded = false
  /** Why guests lack something of it, one sentence; '' = nothing is missing. */
  trouble = ''

  constructor(deps: ManagedDeps) {
    const { cidr, place, run } = deps
    this.#deps = deps
    this.cidr = cidr
    this.gateway = gatewayOf(cidr)
    this.#bridge = new GuestBridge(GUEST_BRIDGE, `${this.gateway}/${cidr.split('/')[1]}`, run)
    this.#rules = new NftTable(NAT_TABLE, place.rules, run)
    this.#guard = new NftTable(GUARD_TABLE, place.guard, run)
    this.#dnsmasq = new Dnsmasq({ ...deps, config: dnsmasqConfig(GUEST_BRIDGE, cidr, place) })
  }

  /** Everything is there and serves these when it resolves; from then on it is kept so. Raises `vmm/*`. */
  async start(reservations: ReadonlyMap<string, Reservation>): Promise<void> {
    this.#reservations = reservations
    await this.#inTurn(async () => {
      await this.#forward()
      await this.#ensure()
      await this.#dnsmasq.reload()
    })
    void this.#watch()
  }

  /** Raises `vmm/failed` when they cannot be served; they are what is served from then on all the same. */
  async serve(reservations: ReadonlyMap<string, Reservation>): Promise<void> {
    this.#reservations = reservations
    await this.#inTurn(async () => {
      await this.#protect()
      await this.#dnsmasq.serve(this.#reservations.values())
    })
  }

  /** Stops looking after it; it stays, and serves on. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#turn
  }

  /** Once a namespace: what it was before is written down first. */
  async #forward(): Promise<void> {
    const { place, stateDir, cidr, sysctl } = this.#deps
    const before = await readNote(place)
    const found = await sysctl.read(FORWARDING)
    const ipForward = before?.ipForward || (found === '1' ? '' : found)
    if (before?.stateDir !== stateDir || before.cidr !== cidr || before.ipForward !== ipForward)
      await writeNote(place, { stateDir, cidr, ipForward })
    if (found !== '1') await sysctl.write(FORWARDING, '1')
  }

  async #ensure(): Promise<void> {
    const made = await this.#bridge.ensure()
    const taps = [...this.#reservations.keys()].map((vmId) => tapName(vmId))
    if (taps.length > 0) await this.#bridge.join(new Set(taps))
    const { cidr, gateway } = this
    const programmed = await this.#rules.ensure(natRuleset({ bridge: GUEST_BRIDGE, cidr, gateway }))
    await this.#protect()
    if (made || programmed) this.#deps.log.info('network.programmed', { bridge: this.#bridge.name, made, programmed })
    await this.#dnsmasq.serve(this.#reservations.values())
  }

  /** Whose the addresses are. A kernel that cannot filter bridges keeps guests from nothing, and serves them. */
  async #protect(): Promise<void> {
    const guests = [...this.#reservations].map(([vmId, { mac, ip }]) => ({ tap: tapName(vmId), mac, ip }))
    try {
      await this.#guard.ensure(guestGuardRuleset({ mac: this.#bridge.mac, ip: this.gateway }, guests))
    } catch (error) {
      const detail = asFault(error).params['detail'] ?? ''
      if (!/not supported|No such file/.test(detail)) throw error
      if (!this.#isUnguarded) this.#deps.log.warn('network.not-guarded', { error: detail })
      this.#isUnguarded = true
    }
  }

  async #watch(): Promise<void> {
    const { clock, log } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      const pause = this.#failures === 0 ? CHECK_MS : fullJitterMs(this.#failures, { floorMs: CHECK_MS, capMs: 60_000 })
      await clock.sleep(pause, signal).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#inTurn(() => this.#ensure())
        this.#failures = 0
        this.trouble = ''
      } catch (error) {
        const { message, params } = asFault(error)
        const trouble = `The network of the guests is not whole (${params['detail'] ?? message}); it is tried again.`
        if (trouble !== this.trouble) log.warn('network.not-whole', { error: message })
        this.#failures++
        this.trouble = trouble
      }
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work)
    this.#turn = next.catch(() => {})
    return next
  }
}
