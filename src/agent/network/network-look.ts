import type { Cidr } from '../../ipc/base/cidr.ts'
import type { Ruleset } from './nft-ruleset.ts'

/** What was seen of a host's network, unjudged. */
export interface NetworkLook {
  /** Of the guests' own network. */
  bridge: string
  /** Empty = none yet. */
  guestCidr: string
  /** Bridges of the operator that VMs are on. */
  operatorBridges: readonly string[]
  /** Programs that are not installed. */
  missing: readonly string[]
  filters: Filters
  routes: readonly Route[]
  /** `forwarding` by interface; absent = there is no such interface. */
  forwarding: ReadonlyMap<string, boolean>
  /** Strict reverse path filter by interface. */
  strictReversePath: ReadonlySet<string>
  /** Bytes, by interface. */
  mtu: ReadonlyMap<string, number>
  /** Frames between ports of a bridge pass the host's IP filter. */
  bridgeNfCall: boolean
}

/** All filters of the host together, or why they could not be read. */
export type Filters = { ruleset: Ruleset } | { problem: string; command: string }

export interface Route {
  /** Undefined = the default route. */
  network: Cidr | undefined
  device: string
  /** As `ip route` prints it. */
  text: string
}

/** A rule that accepts what comes from the bridge, goes to it, or stays between its ports. */
export interface MendRule {
  family: string
  table: string
  chain: string
  bridge: string
  way: 'from' | 'to' | 'within'
}

export interface Judged {
  id: string
  severity: 'blocks' | 'warns'
  what: string
  effect: string
  rule: string
  /** Empty = none is offered. */
  mend: string
  /** What a mend consists of. */
  rules: MendRule[]
  /** Interfaces whose forwarding a mend turns on. */
  settings: string[]
}

type Parts = Pick<Judged, 'id' | 'severity' | 'what' | 'effect'> & Partial<Judged>
/** What is not said is not there; pure. */
export const finding = (parts: Parts): Judged => ({ rule: '', mend: '', rules: [], settings: [], ...parts })

/** Interface of the default route. */
export const uplinkOf = (look: NetworkLook): string =>
  look.routes.find(({ network, device }) => network === undefined && device !== look.bridge)?.device ?? 'the uplink'

/** Each text once; pure. */
export const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]
