import type { Exposure } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'

/** Most ports one host publishes. As many more are told to have failed; of what a snapshot names beyond that nothing is said. */
export const MAX_EXPOSURES = 1_000

export type Protocol = 'tcp' | 'udp'
export type Scope = 'lan' | 'loopback'

/** A port that should be open on this host. */
export interface WantedPort {
  id: string
  vmId: string
  guestPort: number
  hostPort: number
  protocol: Protocol
  scope: Scope
}

/** What is known of a guest now. */
export interface GuestSeen {
  /** Differs for each run of its process; '' = none runs. */
  run: string
  /** There is a way to its ports; '' = there is, else why not, one sentence. */
  unreachable: string
}

/** What should be of one port: a listener; none until the guest is there; none, and why. */
export type PortPlan =
  | { kind: 'listen'; id: string; port: WantedPort; run: string }
  | { kind: 'wait'; id: string; reason: string }
  | { kind: 'refuse'; id: string; reason: string }

/**
 * What should be of each port the accepted state publishes, in its order. Only VMs that are wanted here have ports; of a
 * deleted or unknown one nothing is said. Pure.
 */
export function planPorts(
  exposures: readonly Exposure[],
  isWanted: (vmId: string) => boolean,
  guestOf: (vmId: string) => GuestSeen,
): PortPlan[] {
  const taken = new Map<string, WantedPort>()
  const seen = new Set<string>()
  const plans: PortPlan[] = []
  for (const exposure of exposures) {
    const { id } = exposure
    if (plans.length >= 2 * MAX_EXPOSURES) break
    if (seen.has(id) || !isWanted(exposure.vmId)) continue
    seen.add(id)
    const port = wantedPort(exposure)
    if (!port) plans.push({ kind: 'refuse', id, reason: 'This agent cannot publish such a port.' })
    else if (plans.length >= MAX_EXPOSURES)
      plans.push({ kind: 'refuse', id, reason: `This host publishes ${MAX_EXPOSURES} ports already.` })
    else plans.push(planOne(port, taken, guestOf(port.vmId)))
  }
  return plans
}

function planOne(port: WantedPort, taken: Map<string, WantedPort>, guest: GuestSeen): PortPlan {
  const key = `${port.protocol}/${port.hostPort}`
  const first = taken.get(key)
  if (first) {
    const reason = `Port ${port.hostPort} is published already, for VM ${first.vmId}.`
    return { kind: 'refuse', id: port.id, reason }
  }
  taken.set(key, port)
  if (guest.run === '') return { kind: 'wait', id: port.id, reason: 'The VM is not running.' }
  if (guest.unreachable !== '') return { kind: 'wait', id: port.id, reason: guest.unreachable }
  return { kind: 'listen', id: port.id, port, run: guest.run }
}

function wantedPort({ id, vmId, guestPort, hostPort, protocol, scope }: Exposure): WantedPort | undefined {
  if (id === '' || id.length > 64 || !isPort(guestPort) || !isPort(hostPort)) return undefined
  if (protocol !== 'tcp' && protocol !== 'udp') return undefined
  if (scope !== '' && scope !== 'lan' && scope !== 'loopback') return undefined
  return { id, vmId, guestPort, hostPort, protocol, scope: scope === '' ? 'lan' : scope }
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535

/** Whether a listener of one is no listener of the other. */
export const differs = (a: WantedPort, b: WantedPort): boolean =>
  a.vmId !== b.vmId ||
  a.guestPort !== b.guestPort ||
  a.hostPort !== b.hostPort ||
  a.protocol !== b.protocol ||
  a.scope !== b.scope
