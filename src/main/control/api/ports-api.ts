import { randomBytes } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import type { PortService, PublishPortRequest } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { ExposureRow, ExposuresStore } from '../store/exposures-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { getLiveVm, getVm } from '../vms/vm-directory.ts'
import type { FleetView } from './fleet-view.ts'
import { principalOf } from './principal.ts'

export interface PortsApiDeps {
  vms: VmsStore
  exposures: ExposuresStore
  view: FleetView
}

/** Published ports: desired state only. The host opens them in its own time and says how that went. */
export function portsApi(deps: PortsApiDeps): ServiceImpl<typeof PortService> {
  const { vms, exposures, view } = deps
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
