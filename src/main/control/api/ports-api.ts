import { randomBytes } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { PortService, PublishPortRequest } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import type { ExposureRow, ExposuresStore } from '../store/exposures-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { probePort } from '../tunnels/port-probe.ts'
import { TunnelPlaces } from '../tunnels/tunnel-places.ts'
import { getLiveVm, getVm } from '../vms/vm-directory.ts'
import type { FleetView } from './fleet-view.ts'
import { principalOf } from './principal.ts'

/** Tries at once; they are short, and not those of people's tunnels. */
const PROBES = { perVm: 4, perHost: 8, inAll: 32 }

export interface PortsApiDeps {
  vms: VmsStore
  exposures: ExposuresStore
  hosts: HostsStore
  registry: { active(hostId: string): ActiveSession | undefined }
  view: FleetView
  clock: Clock
}

/** Published ports: desired state only. The host opens them in its own time and says how that went. */
export function portsApi(deps: PortsApiDeps): ServiceImpl<typeof PortService> {
  const { vms, exposures, view } = deps
  const places = new TunnelPlaces(PROBES)
  return {
    publishPort: (request, context) => publish(deps, principalOf(context).tenant, request),
    listPorts: (request, context) => {
      const { tenant } = principalOf(context)
      if (request.vm === '') return { ports: view.ports(tenant) }
      const { id } = getVm(vms, tenant, check('vmRef', { vm: request.vm }).vm)
      return { ports: view.ports(tenant).filter((port) => port.vmId === id) }
    },
    unpublishPort: (request, context) => {
      exposures.remove(principalOf(context).tenant, check('portRef', request).id)
      return {}
    },
    probePort: async (request, context) => {
      const { tenant } = principalOf(context)
      const { id } = check('portRef', request)
      const port = view.findPort(tenant, id)
      if (!port) throw new Fault('port/not-found', 'permanent', { port: id })
      const isLocal = deps.hosts.findIn(tenant, port.hostId)?.kind === 'local'
      const session = deps.registry.active(port.hostId)
      const { clock } = deps
      return { probes: await probePort({ port, isLocal, session, places, clock, signal: context.signal }) }
    },
  }
}

function publish({ vms, exposures, view }: PortsApiDeps, tenant: string, request: PublishPortRequest) {
  const wanted = check('publishPort', {
    ...request,
    protocol: request.protocol || 'tcp',
    scope: request.scope || 'lan',
  })
  const { id: vmId } = getLiveVm(vms, tenant, wanted.vm)
  const { guestPort, hostPort, protocol, scope } = wanted
  const same = (row: ExposureRow) =>
    row.guestPort === guestPort &&
    row.protocol === protocol &&
    row.scope === scope &&
    (hostPort === 0 || row.hostPort === hostPort)
  const found = request.ifAbsent ? exposures.listByVm(vmId).find(same) : undefined
  if (found) return { port: view.findPort(tenant, found.id), created: false }
  const id = randomBytes(16).toString('hex')
  const row = exposures.create({ id, vmId, guestPort, hostPort, protocol, scope })
  return { port: view.findPort(tenant, row.id), created: true }
}
