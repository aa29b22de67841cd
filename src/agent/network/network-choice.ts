import { parseCidr } from '../../ipc/base/cidr.ts'

export interface NetworkFacts {
  asked: 'auto' | 'user'
  root: boolean
  /** Process that owns the guests' network of this namespace; '' = this one, or nobody. */
  holder: string
  /** What else keeps this agent from owning it; '' or absent = nothing. */
  trouble?: string
  /** Programs it needs and that are not installed. */
  missing: readonly string[]
  /** '' = none is settled. */
  cidr: string
}

/** What a bridge of guests is made with. */
export const NETWORK_PROGRAMS = ['ip', 'nft', 'dnsmasq'] as const

/** Programs this agent's guests lack for a bridge when they are not there; none where they have none anyway. */
export const networkPrograms = (platform: NodeJS.Platform, asked: 'auto' | 'user', root: boolean): readonly string[] =>
  platform === 'linux' && asked === 'auto' && root ? NETWORK_PROGRAMS : []

/** What guests cannot do by user-mode translation, for people. */
export const USER_MODE_LIMITS =
  'Guests reach out through their hypervisor: none reaches another, none has an address this host can reach, and a published port is forwarded by the hypervisor.'

/** Why this agent may not own the network of this namespace, one sentence; '' = it may. */
export function notOwnedBecause({ asked, root, holder, trouble, missing }: Omit<NetworkFacts, 'cidr'>): string {
  if (asked === 'user') return 'This agent was told to leave the network of its host alone (--guest-network user).'
  if (!root) return 'The agent does not run as root, and only root can make a bridge.'
  if (missing.includes('ip')) return lacks(['ip'])
  if (trouble) return `This agent cannot take the network of its host (${trouble}).`
  return holder === '' ? '' : `Another agent of this host (process ${holder}) owns the bridge of its guests.`
}

/** Why guests are not on a bridge of this host, one sentence; '' = they are. */
export function userModeBecause(facts: NetworkFacts): string {
  const { missing, cidr } = facts
  const notOwned = notOwnedBecause(facts)
  if (notOwned !== '') return notOwned
  if (missing.length > 0) return lacks(missing)
  if (cidr === '') return 'No network for guests is settled on this host yet.'
  return parseCidr(cidr)?.version === 4 ? '' : `The network of guests, ${cidr}, is IPv6, which no bridge is made for.`
}

function lacks(programs: readonly string[]): string {
  const names = programs.length === 1 ? programs[0] : `${programs.slice(0, -1).join(', ')} and ${programs.at(-1)}`
  return `This host lacks ${names}: install ${programs.length === 1 ? 'it' : 'them'} for a bridge of guests.`
}
