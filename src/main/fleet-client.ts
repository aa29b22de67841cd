import { type Client, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { AuditService } from '../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { FleetService } from '../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { HostService } from '../ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from '../ipc/gen/eitri/fleet/v1/image_pb.js'
import { TaskService } from '../ipc/gen/eitri/fleet/v1/task_pb.js'
import { VmService } from '../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { MiB } from '../ipc/units.ts'

/** Largest answer taken from a control plane; the whole state of a large fleet fits many times. */
const READ_MAX_BYTES = 64 * MiB

export interface FleetClient {
  readonly socketPath: string
  readonly fleet: Client<typeof FleetService>
  readonly hosts: Client<typeof HostService>
  readonly vms: Client<typeof VmService>
  readonly images: Client<typeof ImageService>
  readonly tasks: Client<typeof TaskService>
  readonly audit: Client<typeof AuditService>
}

/** The fleet API on a control plane's unix socket. Connects per call; nothing to close. */
export function fleetClient(socketPath: string): FleetClient {
  const transport = createConnectTransport({
    baseUrl: 'http://eitri',
    httpVersion: '1.1',
    nodeOptions: { socketPath },
    readMaxBytes: READ_MAX_BYTES,
    acceptCompression: [],
  })
  return {
    socketPath,
    fleet: createClient(FleetService, transport),
    hosts: createClient(HostService, transport),
    vms: createClient(VmService, transport),
    images: createClient(ImageService, transport),
    tasks: createClient(TaskService, transport),
    audit: createClient(AuditService, transport),
  }
}
