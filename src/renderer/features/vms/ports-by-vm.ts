import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { ById } from '../../state/row-list.ts'

type Ports = ById<Port>

const made = new WeakMap<Ports, ReadonlyMap<string, readonly Port[]>>()
const NONE: readonly Port[] = []

/** Published ports by the id of their VM; made once for each state of the fleet. */
export function portsByVm(ports: Ports): ReadonlyMap<string, readonly Port[]> {
  const known = made.get(ports)
  if (known) return known
  const next = new Map<string, Port[]>()
  for (const port of ports.values()) {
    const own = next.get(port.vmId)
    if (own) own.push(port)
    else next.set(port.vmId, [port])
  }
  made.set(ports, next)
  return next
}

export const portsOf = (ports: Ports, vmId: string): readonly Port[] => portsByVm(ports).get(vmId) ?? NONE
