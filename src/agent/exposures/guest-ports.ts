import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import type { Exposure } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { Backend } from '../backends/backend.ts'
import type { VmNetwork } from '../network/vm-network.ts'
import type { AgentLayout } from '../records/layout.ts'
import { Exposures } from './exposures.ts'
import { Places, PORT_LIMITS } from './limits.ts'
import { findPortHolder } from './port-holder.ts'
import { Reach } from './reach.ts'

export interface GuestPortsParts {
  /** Asked at each use: it is made after this. */
  engine(): {
    exposures(): readonly Exposure[]
    isWanted(vmId: string): boolean
    guest(vmId: string): { run: string; ip: string }
  }
  backend: Pick<Backend, 'capabilities' | 'forward'>
  network: Pick<VmNetwork, 'address'>
  layout: Pick<AgentLayout, 'vmDir'>
  clock: Clock
  log: Log
}

/** The published ports of this agent, not open before `start`, and the way to guests, which forwards take too. */
export function guestPorts({ engine, backend, network, layout, clock, log }: GuestPortsParts) {
  const live = backend.capabilities.liveForward
  const reach = new Reach({
    run: (vmId) => engine().guest(vmId).run,
    // Where a hypervisor forwards, an address of an earlier life may stand in the record.
    address: (vmId) => network.address(vmId) || (live ? '' : engine().guest(vmId).ip),
    ...(live && backend.forward
      ? { forward: (vmId, protocol, port) => backend.forward!(layout.vmDir(vmId), protocol, port) }
      : {}),
  })
  const ports = new Exposures({
    reach,
    places: new Places(PORT_LIMITS.inAll),
    limits: PORT_LIMITS,
    wanted: () => engine().exposures(),
    isWanted: (vmId) => engine().isWanted(vmId),
    holder: findPortHolder,
    clock,
    log,
  })
  const guests = { target: reach.target.bind(reach), limits: PORT_LIMITS }
  return { ports, guests }
}
