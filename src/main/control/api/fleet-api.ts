import type { ServiceImpl } from '@connectrpc/connect'
import type { FleetService } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { SshFacts } from '../hosts/ssh-facts.ts'
import type { FleetFeeds } from './fleet-feeds.ts'
import { principalOf } from './principal.ts'

const MAX_CONFIG_HOSTS = 500

/** What is said about this control plane and the computer it runs on. */
export interface FleetInfo {
  version: string
  fleetId: string
  dataDir: string
  pid: number
  localHost(): Promise<{ possible: boolean; detail: string }>
  buildTiny(): { possible: boolean; detail: string }
  buildDebian(): { possible: boolean; detail: string }
  sshConfigHosts(): Promise<string[]>
  ssh(): Promise<SshFacts>
  /** Words of GetStore; empty = it is fine. */
  store(tenant: string): { problem: string; readOnlyReason: string }
}

/** The stream of the whole fleet of a tenant, and what this control plane is. Streams end when `stopping` aborts. */
export function fleetApi(feeds: FleetFeeds, info: FleetInfo, stopping: AbortSignal): ServiceImpl<typeof FleetService> {
  return {
    watchFleet: (_, context) => feeds.watch(principalOf(context).tenant, AbortSignal.any([context.signal, stopping])),
    getInfo: async (_, context) => {
      const [localHost, configHosts, ssh] = await Promise.all([info.localHost(), info.sshConfigHosts(), info.ssh()])
      const tiny = info.buildTiny()
      const debian = info.buildDebian()
      const { problem, readOnlyReason } = info.store(principalOf(context).tenant)
      return {
        version: info.version,
        fleetId: info.fleetId,
        dataDir: info.dataDir,
        pid: info.pid,
        localHostPossible: localHost.possible,
        localHostDetail: localHost.detail,
        buildTinyPossible: tiny.possible,
        buildTinyDetail: tiny.detail,
        buildDebianPossible: debian.possible,
        buildDebianDetail: debian.detail,
        sshConfigHosts: configHosts.slice(0, MAX_CONFIG_HOSTS),
        storeProblem: problem,
        storeReadOnlyReason: readOnlyReason,
        ssh,
      }
    },
  }
}
