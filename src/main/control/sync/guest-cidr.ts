import { createHash } from 'node:crypto'
import { type Cidr, networkOf, overlaps, parseCidr } from '../../../ipc/base/cidr.ts'
import type { NetworkStatus } from '../../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { HostLive } from './registry.ts'

/** Guests of every host get a /24 of their own of the first range, as long as there are any; the others stand in for it. */
const PLAN = [range('10.77', 0, 256), range('10.213', 0, 256), range('172.16', 64, 192), range('192.168', 240, 248)]
/** Others beside the first: the agent tries them in turn. */
const OTHERS = 8
/** What is near a host's own address is as good as taken. */
const NEAR = 16

function range(start: string, from: number, to: number): { text: string; cidr: Cidr }[] {
  return Array.from({ length: to - from }, (_, i) => {
    const text = `${start}.${from + i}.0/24`
    return { text, cidr: parseCidr(text)! }
  })
}

type Host = Pick<HostRow, 'id' | 'guestCidr' | 'agent' | 'facts' | 'uplinkAddress' | 'ssh'>

/** For the host of this id, whose row is there; best first, none = nothing to suggest. Raises what the store does. */
export const suggestedGuestCidrs = (
  hosts: { get(id: string): Host; listAll(): Host[] },
  registry: { live(hostId: string): HostLive },
  id: string,
): string[] => freeGuestCidrs(hosts.get(id), hosts.listAll(), registry.live(id).report?.networks ?? [])

/**
 * The network a host had, then free ones of different ranges, so that a host with a way to all of one still finds its
 * own; hosts that attach at the same time begin their search at different places. None for an agent that builds no
 * network: one that is not root, and macOS.
 */
export function freeGuestCidrs(
  host: Host,
  hosts: readonly Pick<Host, 'id' | 'guestCidr'>[],
  networks: readonly Pick<NetworkStatus, 'kind' | 'cidr'>[] = [],
): string[] {
  const { guestCidr, agent, facts } = host
  if (facts?.platform === 'darwin') return []
  const own = guestCidr === '' ? [] : [guestCidr]
  if (agent.runsAs !== 'root') return own
  const taken = takenOf(host, hosts, networks)
  const from = createHash('sha256').update(host.id).digest()[0]!
  const free = PLAN.map((all) => {
    const start = from % all.length
    return firstFree([...all.slice(start), ...all.slice(0, start)], taken)
  })
  return [...new Set([...own, ...inTurn(free)])].slice(0, 1 + OTHERS)
}

function takenOf(
  { id, uplinkAddress, ssh }: Host,
  hosts: readonly Pick<Host, 'id' | 'guestCidr'>[],
  networks: readonly Pick<NetworkStatus, 'kind' | 'cidr'>[],
): Cidr[] {
  const others = hosts.filter((other) => other.id !== id).flatMap(({ guestCidr }) => parseCidr(guestCidr) ?? [])
  const near = [uplinkAddress, ssh?.host ?? ''].flatMap((address) => networkOf(`${address}/${NEAR}`) ?? [])
  const told = networks.filter(({ kind }) => kind === 'operator').flatMap(({ cidr }) => networkOf(cidr) ?? [])
  return [...others, ...near, ...told]
}

function firstFree(all: readonly { text: string; cidr: Cidr }[], taken: readonly Cidr[]): string[] {
  const free: string[] = []
  for (const { text, cidr } of all) {
    if (free.length > OTHERS) break
    if (!taken.some((other) => overlaps(other, cidr))) free.push(text)
  }
  return free
}

/** The first of each, then the second of each, and so on. */
function inTurn(lists: readonly string[][]): string[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list[i] ?? [])).flat()
}
