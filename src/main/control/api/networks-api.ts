import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type * as agent from '../../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { NetworkService } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { askAgent } from '../hosts/ask-agent.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { FleetView } from './fleet-view.ts'
import { findingViews } from './network-view.ts'
import { principalOf } from './principal.ts'

/** The agent looks before and after, each look and each change with a deadline of its own. */
const ASK_TIMEOUT_MS = 25_000

export interface NetworksApiDeps {
  hosts: HostsStore
  registry: { active(hostId: string): ActiveSession | undefined }
  view: FleetView
  audit: { add(event: AuditEvent): void }
}

/** Hosts' networks. Looking at a host's filters and mending them is the host's work, now. */
export function networksApi(deps: NetworksApiDeps): ServiceImpl<typeof NetworkService> {
  const { hosts, view } = deps
  const resolve = (request: { host: string }, context: HandlerContext) =>
    hosts.resolve(principalOf(context).tenant, check('hostRef', request).host)
  return {
    listNetworks: (request, context) => {
      const asked =
        request.host === '' ? view.hosts(principalOf(context).tenant) : [view.host(resolve(request, context))]
      return { networks: asked.flatMap(({ networks }) => networks) }
    },
    checkNetwork: async (request, context) => ({
      findings: await ask(deps, resolve(request, context), context.signal, ({ connection, sessionId }, options) =>
        connection.client.checkNetwork({ sessionId }, options),
      ),
    }),
    mendNetwork: async (request, context) => {
      const host = resolve(request, context)
      const { findingId, undo } = check('mendNetwork', request)
      const findings = await ask(deps, host, context.signal, ({ connection, sessionId }, options) =>
        connection.client.mendNetwork({ sessionId, findingId, undo }, options),
      )
      deps.audit.add({
        action: undo ? 'host.undo_network_mend' : 'host.mend_network',
        tenant: host.tenant,
        hostId: host.id,
        detail: { name: host.name, finding: findingId },
      })
      return { findings }
    },
  }
}

type Asked = (
  session: ActiveSession,
  options: { signal: AbortSignal; timeoutMs: number },
) => Promise<{ findings: agent.NetworkFinding[] }>

/** Raises host/no-answer, agent/version-skew, network/*. */
const ask = async ({ registry }: NetworksApiDeps, host: HostRow, signal: AbortSignal, asked: Asked) =>
  findingViews(
    (await askAgent(registry, host, (session) => asked(session, { signal, timeoutMs: ASK_TIMEOUT_MS }))).findings,
  )
