import type { Log } from '../../../ipc/base/log.ts'
import { type OwnedVmDeps, ownedVm } from '../api/owned-vm.ts'
import type { Registry } from '../sync/registry.ts'
import type { Trust } from '../trust/trust.ts'
import { type GuestLogin, openGuestLogin } from './guest-login.ts'
import { LoginAgents, type LoginVm } from './login-agents.ts'
import { type TunnelEndpoint, tunnelEndpoint } from './tunnel-endpoint.ts'
import { TunnelPlaces } from './tunnel-places.ts'

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
  /** What ssh needs to log in once; the caller closes it. Raises vm/*, port/*, and why there can be no login. */
  login(tenant: string, ref: string, login: string, signal: AbortSignal): Promise<{ vm: LoginVm; way: GuestLogin }>
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
  const places = new TunnelPlaces()
  const endpoint = tunnelEndpoint<LoginVm>({
    vmOf: (tenant, ref) => loginVm(deps, tenant, ref),
    sessions: registry,
    holdLogin: (vm, login) => logins.hold(vm, login),
    places,
    log,
  })
  return {
    endpoint,
    async login(tenant, ref, login, signal) {
      const vm = loginVm(deps, tenant, ref)
      const session = registry.active(vm.hostId)
      return { vm, way: await openGuestLogin({ logins, places, dir, session, vm, login, signal }) }
    },
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
