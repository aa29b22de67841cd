import { createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { AuditService } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { FleetService } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { HostService } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { TaskService } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { VmService } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'

const CALL_TIMEOUT_MS = 30_000

const transport: Transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  defaultTimeoutMs: CALL_TIMEOUT_MS,
})

/** Clients of the fleet API on the origin that served this page. */
export const api = {
  fleet: createClient(FleetService, transport),
  hosts: createClient(HostService, transport),
  vms: createClient(VmService, transport),
  images: createClient(ImageService, transport),
  tasks: createClient(TaskService, transport),
  audit: createClient(AuditService, transport),
}

/** Opens WatchFleet; it lives until the signal aborts. */
export const watchFleet = (signal: AbortSignal) => api.fleet.watchFleet({}, { signal, timeoutMs: 0 })
