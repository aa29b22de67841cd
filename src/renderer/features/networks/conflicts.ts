import { networkOf, overlaps } from '../../../ipc/base/cidr.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Network, NetworkAddress } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'

/** Two things of one host that cannot both hold an address. */
export interface Conflict {
  key: string
  what: string
  /** What it does to guests, and the next move. */
  effect: string
}

/** Conflicts shown of one host. */
const SHOWN = 20

/** Addresses held twice on a network, and networks of a host that overlap. */
export const conflictsOf = ({ name, networks }: Pick<Host, 'name' | 'networks'>): Conflict[] =>
  [...networks.flatMap(sharedAddresses), ...overlapping(name, networks)].slice(0, SHOWN)

function sharedAddresses({ name, addresses }: Network): Conflict[] {
  const holders = new Map<string, NetworkAddress[]>()
  for (const one of addresses) if (one.ip !== '') holders.set(one.ip, [...(holders.get(one.ip) ?? []), one])
  return [...holders].flatMap(([ip, held]) => {
    const machines = new Set(held.map(({ mac }) => mac))
    if (machines.size < 2) return []
    const names = held.map(({ vmName, mac }) => vmName || mac).join(' and ')
    return [
      {
        key: `${name} ${ip}`,
        what: `${names} both have ${ip} on ${name}.`,
        effect: 'Connections to it reach the one or the other. Restart one of them, or give it another address inside.',
      },
    ]
  })
}

function overlapping(host: string, networks: readonly Network[]): Conflict[] {
  const known = networks.flatMap((network) => {
    const cidr = networkOf(network.cidr)
    return cidr ? [{ network, cidr }] : []
  })
  return known.flatMap((one, at) =>
    known.slice(at + 1).flatMap((other) =>
      overlaps(one.cidr, other.cidr)
        ? [
            {
              key: `${one.network.name} ${other.network.name}`,
              what: `${one.network.name} (${one.network.cidr}) and ${other.network.name} (${other.network.cidr}) overlap on ${host}.`,
              effect: 'Guests of the one cannot reach what lies in the other. Give one of them another range.',
            },
          ]
        : [],
    ),
  )
}
