import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AuditService } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { findVm } from '../vms/vm-directory.ts'

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 1000

/** The trail, also of things that are gone: then by their id. */
export function auditApi(audit: AuditStore, hosts: HostsStore, vms: VmsStore): ServiceImpl<typeof AuditService> {
  const vmId = (ref: string) => findVm(vms, ref)?.id ?? ref
  const hostId = (ref: string) => hosts.findByName(ref)?.id ?? ref
  return {
    listAudit: (request) => ({
      entries: audit
        .list({
          limit: Math.min(request.limit || DEFAULT_LIMIT, MAX_LIMIT),
          ...(request.vm ? { vmId: vmId(request.vm) } : {}),
          ...(request.host ? { hostId: hostId(request.host) } : {}),
          ...(request.since ? { since: timestampDate(request.since) } : {}),
        })
        .map(({ at, ...entry }) => ({ ...entry, at: timestampFromDate(at) })),
    }),
  }
}
