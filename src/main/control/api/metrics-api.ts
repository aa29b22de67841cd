import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { HistorySample } from '../../../ipc/gen/eitri/agent/v1/history_pb.js'
import type { MetricsService } from '../../../ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { check } from '../../../ipc/rules.ts'
import { askAgent } from '../hosts/ask-agent.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { HostLive, Registry } from '../sync/registry.ts'
import { principalOf } from './principal.ts'

const ASK_TIMEOUT_MS = 10_000
/** Clocks that differ by less cannot be told from a report that was under way, ms. */
const REPORT_WAY_MS = 2_000
/** What is asked for where nothing is said. */
const DEFAULTS = { spanS: 3_600, samples: 360 } as const

export interface MetricsApiDeps {
  /** A VM of the tenant, in quarantine too; raises vm/* faults. */
  getVm(tenant: string, ref: string): VmRow
  hosts: HostsStore
  registry: Pick<Registry, 'active' | 'live'>
}

/** What hosts and VMs took. The hosts keep it; nothing of it is kept here. */
export function metricsApi({ getVm, hosts, registry }: MetricsApiDeps): ServiceImpl<typeof MetricsService> {
  return {
    getHistory: async (request, context) => {
      const { host: hostRef, vm: vmRef, spanS, samples } = check('getHistory', request)
      const { tenant } = principalOf(context)
      const vm = vmRef === '' ? undefined : getVm(tenant, vmRef)
      const host = vm ? hosts.resolve(vm.tenant, vm.hostId) : hosts.resolve(tenant, hostRef)
      const answer = await askAgent(registry, host, ({ connection, sessionId }) =>
        connection.client.getHistory(
          {
            sessionId,
            vmId: vm?.id ?? '',
            spanS: spanS || DEFAULTS.spanS,
            samples: samples || DEFAULTS.samples,
          },
          { signal: context.signal, timeoutMs: ASK_TIMEOUT_MS },
        ),
      )
      const aheadMs = hostAheadMs(registry.live(host.id))
      return { stepS: answer.stepS, samples: answer.samples.map((sample) => inOurTime(sample, aheadMs)) }
    },
  }
}

/** Host minus this computer by the last report, whole seconds; less than what a report takes on its way is nothing. */
function hostAheadMs({ report, reportedAt }: HostLive): number {
  if (!report?.builtAt || !reportedAt) return 0
  const ahead = timestampMs(report.builtAt) - reportedAt.getTime()
  return Math.abs(ahead) < REPORT_WAY_MS ? 0 : Math.round(ahead / 1000) * 1000
}

function inOurTime({ $typeName, $unknown, at, ...values }: HistorySample, aheadMs: number) {
  return { ...values, ...(at ? { at: timestampFromMs(timestampMs(at) - aheadMs) } : {}) }
}
