import { readFile } from 'node:fs/promises'
import os from 'node:os'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import { routedNetworks } from '../facts/proc-text.ts'
import { guestCidr } from './guest-cidr.ts'

/** The bridge of the agent's own guests: what lies behind it is no other network. */
export const GUEST_BRIDGE = 'eitri0'

export interface GuestNetworkDeps {
  platform: NodeJS.Platform
  /** `--bridge-cidr`; empty = not given. */
  flag: string
  /** `takeBridgeCidr` is durable before it resolves. */
  identity: { readonly bridgeCidr: string; takeBridgeCidr(cidr: string): Promise<void> }
  /** Networks this host has without us, as `address/prefix`. */
  ownNetworks?(): Promise<string[]>
  log: Log
}

/** Which network the guests of this host live in. Once there is an answer it stays, for as long as the agent runs. */
export class GuestNetwork {
  readonly #deps: GuestNetworkDeps
  #cidr = ''
  #problem = ''

  constructor(deps: GuestNetworkDeps) {
    this.#deps = deps
  }

  /** Empty = none. */
  get cidr(): string {
    return this.#cidr
  }

  /** What a person should know of it. */
  notices(): string[] {
    return this.#problem === '' ? [] : [this.#problem]
  }

  /** At start without, at each attach with what the control plane suggests. Never raises: an answer that cannot be kept holds all the same. */
  async resolve(suggestions: readonly string[] = []): Promise<void> {
    const { platform, flag, identity, log, ownNetworks = networksOfHost } = this.#deps
    if (this.#cidr === '') {
      const claims = { persisted: identity.bridgeCidr, flag, suggestions }
      const { cidr, problem } = guestCidr(platform, claims, await ownNetworks())
      if (problem !== this.#problem && problem !== '') log.warn('network.no-guest-cidr', { problem })
      this.#cidr = cidr
      this.#problem = problem
    }
    if (this.#cidr === '' || this.#cidr === identity.bridgeCidr) return
    await identity
      .takeBridgeCidr(this.#cidr)
      .catch((error: unknown) => log.warn('network.guest-cidr-not-kept', { error: asFault(error).message }))
  }
}

/** Networks of all interfaces and routes but our own bridge's. */
async function networksOfHost(): Promise<string[]> {
  const routes = routedNetworks(await readFile('/proc/net/route', 'utf8').catch(() => ''))
  const interfaces = Object.entries(os.networkInterfaces()).flatMap(([device, addresses = []]) =>
    addresses.flatMap(({ cidr }) => (cidr === null ? [] : [{ device, cidr }])),
  )
  return [...interfaces, ...routes].filter(({ device }) => device !== GUEST_BRIDGE).map(({ cidr }) => cidr)
}
