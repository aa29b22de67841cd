import type { Interceptor } from '@connectrpc/connect'
import type { AuditEvent } from '../store/audit-store.ts'
import { principalOf } from './principal.ts'

/** Writes an audit row for each call of an MCP client, also for one that only looks or is refused afterwards. */
export const calledByModel =
  (audit: { add(event: AuditEvent): void }): Interceptor =>
  (next) =>
  (req) => {
    const { client, tenant } = principalOf({ values: req.contextValues })
    if (client === 'mcp')
      audit.add({ action: 'mcp.call', tenant, detail: { method: `${req.service.name}/${req.method.name}` } })
    return next(req)
  }
