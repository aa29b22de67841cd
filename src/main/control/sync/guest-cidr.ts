import { createHash } from 'node:crypto'
import { overlaps, parseCidr } from '../../../ipc/base/cidr.ts'
import type { HostRow } from '../store/host-row.ts'

/** Guests of every host get a /24 of 10.77.0.0/16 of their own, as long as there are any. */
const PLAN = Array.from({ length: 256 }, (_, i) => `10.77.${i}.0/24`)

type Host = Pick<HostRow, 'id' | 'guestCidr' | 'agent'>

/** For the host of this id, whose row is there. Raises what the store does. */
export const suggestedGuestCidr = (hosts: { get(id: string): Host; list(): Host[] }, id: string): string =>
  freeGuestCidr(hosts.get(id), hosts.list())

/**
 * The network a host had, else a free one; hosts that attach at the same time begin their search at different places.
 * Empty for an agent that is not root, which builds no network, and when none is free.
 */
export function freeGuestCidr(host: Host, hosts: readonly Host[]): string {
  if (host.guestCidr !== '') return host.guestCidr
  if (host.agent.runsAs !== 'root') return ''
  const taken = hosts.flatMap(({ guestCidr }) => parseCidr(guestCidr) ?? [])
  const from = createHash('sha256').update(host.id).digest()[0]!
  const order = [...PLAN.slice(from), ...PLAN.slice(0, from)]
  return order.find((text) => !taken.some((other) => overlaps(other, parseCidr(text)!))) ?? ''
}
