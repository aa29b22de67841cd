import { createClient, type Transport } from '@connectrpc/connect'
import { AuditService } from './gen/eitri/fleet/v1/audit_pb.js'
import { ClockService } from './gen/eitri/fleet/v1/clock_pb.js'
import { CloudInitService } from './gen/eitri/fleet/v1/cloud_init_pb.js'
import { FleetService } from './gen/eitri/fleet/v1/fleet_pb.js'
import { HostService } from './gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from './gen/eitri/fleet/v1/image_pb.js'
import { MetricsService } from './gen/eitri/fleet/v1/metrics_pb.js'
import { NetworkService } from './gen/eitri/fleet/v1/network_pb.js'
import { PortService } from './gen/eitri/fleet/v1/port_pb.js'
import { StoreService } from './gen/eitri/fleet/v1/store_pb.js'
import { SupportService } from './gen/eitri/fleet/v1/support_pb.js'
import { TaskService } from './gen/eitri/fleet/v1/task_pb.js'
import { TemplateService } from './gen/eitri/fleet/v1/template_pb.js'
import { TenantService } from './gen/eitri/fleet/v1/tenant_pb.js'
import { TrustService } from './gen/eitri/fleet/v1/trust_pb.js'
import { VmService } from './gen/eitri/fleet/v1/vm_pb.js'

/** A client of each noun of the fleet API; what they hold open is the transport's. */
export const fleetClients = (transport: Transport) => ({
  fleet: createClient(FleetService, transport),
  hosts: createClient(HostService, transport),
  vms: createClient(VmService, transport),
  images: createClient(ImageService, transport),
  ports: createClient(PortService, transport),
  networks: createClient(NetworkService, transport),
  metrics: createClient(MetricsService, transport),
  store: createClient(StoreService, transport),
  support: createClient(SupportService, transport),
  tasks: createClient(TaskService, transport),
  templates: createClient(TemplateService, transport),
  trust: createClient(TrustService, transport),
  audit: createClient(AuditService, transport),
  tenants: createClient(TenantService, transport),
  clock: createClient(ClockService, transport),
  cloudInit: createClient(CloudInitService, transport),
})

export type FleetClients = ReturnType<typeof fleetClients>
