import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AuditService } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { findVm } from '../vms/vm-directory.ts'
import { principalOf } from './principal.ts'

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 1000

/** The trail, also of things that are gone: then by their id. */
export function auditApi(audit: AuditStore, hosts: HostsStore, vms: VmsStore): ServiceImpl<typeof AuditService> {
  const vmId = (tenant: string, ref: string) => findVm(vms, tenant, ref)?.id ?? ref
  const hostId = (tenant: string, ref: string) => hosts.findByName(tenant, ref)?.id ?? ref
  return {
    listAudit: (request, context) => {
      const { tenant } = principalOf(context)
      return {
        entries: audit
          .list({
            tenant,
            limit: Math.min(request.limit || DEFAULT_LIMIT, MAX_LIMIT),
            ...(request.vm ? { vmId: vmId(tenant, request.vm) } : {}),
            ...(request.host ? { hostId: hostId(tenant, request.host) } : {}),
            ...(request.since ? { since: timestampDate(request.since) } : {}),
          })
          .map(({ at, ...entry }) => ({ ...entry, at: timestampFromDate(at) })),
      }
    },
  }
}
