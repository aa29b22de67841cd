import type { Log } from '../../../ipc/base/log.ts'
import { type OwnedVmDeps, ownedVm } from '../api/owned-vm.ts'
import type { Registry } from '../sync/registry.ts'
import type { Trust } from '../trust/trust.ts'
import { LoginAgents, type LoginVm } from './login-agents.ts'
import { type TunnelEndpoint, tunnelEndpoint } from './tunnel-endpoint.ts'

export interface FleetTunnelsDeps extends OwnedVmDeps {
  registry: Registry
  /** Where the sockets of logins are. */
  dir: string
  trust: Pick<Trust, 'issueLogin' | 'knownHosts'>
  log: Log
}

/** Ways from this computer to ports of guests, and the logins that go with them. */
export interface FleetTunnels {
  endpoint: TunnelEndpoint
  /** Ends every tunnel and every login's socket. */
  close(): Promise<void>
}

/** Nothing is made on disk before the first login. */
export function fleetTunnels({ registry, dir, trust, log, ...deps }: FleetTunnelsDeps): FleetTunnels {
  const logins = new LoginAgents({
    dir,
    async issue(vm, login, publicKey) {
      if (!vm.trustedCas?.length) return undefined
      return (await trust.issueLogin({ tenant: vm.tenant, vm, login, publicKey })).certificate
    },
    knownHosts: (vm) => trust.knownHosts(vm),
  })
  const endpoint = tunnelEndpoint<LoginVm>({
    vmOf: (tenant, ref) => loginVm(deps, tenant, ref),
    sessions: registry,
    holdLogin: (vm, login) => logins.hold(vm, login),
    log,
  })
  return {
    endpoint,
    async close() {
      endpoint.close()
      await logins.close()
    },
  }
}

function loginVm(deps: OwnedVmDeps, tenant: string, ref: string): LoginVm {
  const row = ownedVm(deps, tenant, ref)
  const { id, name, hostId } = row
  return { id, name, hostId, hostName: deps.hosts.findIn(tenant, hostId)?.name ?? hostId, row }
}
