import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { AuditFilter, AuditService } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { DEFAULT_TENANT } from '../../../ipc/request-headers.ts'
import { check } from '../../../ipc/rules.ts'
import type { AuditQuery } from '../store/audit-query.ts'
import type { AuditRetention } from '../store/audit-retention.ts'
import { type AuditRow, type AuditStore, shownTo } from '../store/audit-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { TasksStore } from '../store/tasks-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { findVm } from '../vms/vm-directory.ts'
import { entryViews } from './audit-view.ts'
import { principalOf } from './principal.ts'

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 1000
/** Entries in one message of an export, and in memory at once. */
const EXPORT_PAGE = 500

export interface AuditApiDeps {
  audit: AuditStore
  retention: AuditRetention
  hosts: HostsStore
  vms: VmsStore
  tasks: Pick<TasksStore, 'find'>
}

type Filter = Omit<AuditFilter, '$typeName' | '$unknown'>

/** The trail of a tenant, also of things that are gone: then by their id. */
export function auditApi({ audit, retention, hosts, vms, tasks }: AuditApiDeps): ServiceImpl<typeof AuditService> {
  const queryOf = (tenant: string, filter: Filter): Omit<AuditQuery, 'limit'> => {
    const { vm, host, action, requestId, result } = check('auditFilter', filter)
    return {
      tenants: shownTo(tenant),
      ...(vm ? { vmId: findVm(vms, tenant, vm)?.id ?? vm } : {}),
      ...(host ? { hostId: hosts.findByName(tenant, host)?.id ?? host } : {}),
      ...(filter.since ? { since: timestampDate(filter.since) } : {}),
      ...(action ? { action } : {}),
      ...(requestId ? { requestId } : {}),
      ...(result ? { result } : {}),
    }
  }
  const views = (rows: readonly AuditRow[]) => entryViews(rows, { audit, tasks })
  return {
    listAudit: (request, context) => {
      const query = queryOf(principalOf(context).tenant, request)
      const { beforeId } = check('auditPage', request)
      const limit = Math.min(request.limit || DEFAULT_LIMIT, MAX_LIMIT)
      // One more than asked for tells whether there is a next page.
      const rows = audit.list({ ...query, ...(beforeId ? { beforeId: Number(beforeId) } : {}), limit: limit + 1 })
      const entries = rows.slice(0, limit)
      return { entries: views(entries), nextBeforeId: rows.length > limit ? (entries.at(-1)?.id ?? '') : '' }
    },
    async *exportAudit({ filter }, context) {
      const given = filter ?? { vm: '', host: '', action: '', requestId: '', result: '' }
      const query = queryOf(principalOf(context).tenant, given)
      // What is written from now on is not part of it: an export ends.
      const beforeId = audit.lastId() + 1
      for (let afterId = 0; !context.signal.aborted; ) {
        const rows = audit.list({ ...query, afterId, beforeId, limit: EXPORT_PAGE })
        const last = rows.at(-1)
        if (!last) return
        yield { entries: views(rows) }
        afterId = Number(last.id)
      }
    },
    setAuditRetention: (request, context) => {
      const { tenant } = principalOf(context)
      if (tenant !== DEFAULT_TENANT) {
        const problem = `how long the trail is kept is said in the tenant ${DEFAULT_TENANT}`
        throw new Fault('input/invalid', 'permanent', { field: 'tenant', value: tenant, problem })
      }
      const { days } = check('auditRetention', request)
      if (days !== undefined) retention.set(days)
      return { days: retention.days() }
    },
  }
}
